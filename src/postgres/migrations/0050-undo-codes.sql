-- The purpose `undo` is a code that was mailed to the address that a user had before: it sends mails there again. A user may have several.
alter table mail_codes drop constraint mail_codes_purpose_check,
  add constraint mail_codes_purpose_check check (purpose in ('email', 'password', 'undo'));
create unique index mail_codes_undo on mail_codes (mac) where purpose = 'undo';

-- replaces sha256 0e67960edf69b29167cb4778ad63c60319faad0dfbb4df3126bb8e7cdae7b81a

-- step: transaction
-- The purpose `undo` is a code that was mailed to the address that a user had before: it sends mails there again. A user may have several.
alter table mail_codes drop constraint mail_codes_purpose_check,
  add constraint mail_codes_purpose_check check (purpose in ('email', 'password', 'undo')) not valid;

-- step: transaction
alter table mail_codes validate constraint mail_codes_purpose_check;

-- step: index
create unique index concurrently if not exists mail_codes_undo on mail_codes (mac) where purpose = 'undo';

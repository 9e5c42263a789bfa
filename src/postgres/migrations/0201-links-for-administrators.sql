-- step: transaction
-- The purposes `first_run` and `recovery` are links that sign an administrator in, to set a password or a passkey. The first start prints
-- one that only counts on the machine itself, and the command recover one that counts anywhere.
alter table mail_codes drop constraint mail_codes_purpose_check,
  add constraint mail_codes_purpose_check check (purpose in (
    'email', 'password', 'undo', 'invitation', 'registration', 'sign_in', 'first_run', 'recovery')) not valid;

-- step: transaction
alter table mail_codes validate constraint mail_codes_purpose_check;

-- step: index
create unique index concurrently if not exists mail_codes_link on mail_codes (mac) where purpose in ('first_run', 'recovery');

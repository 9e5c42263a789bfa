-- step: transaction
-- The purpose `sign_in` is a code to sign in with. Its id is in the token that whoever asked for it got.
alter table mail_codes drop constraint mail_codes_purpose_check,
  add constraint mail_codes_purpose_check check (purpose in ('email', 'password', 'undo', 'invitation', 'registration', 'sign_in')) not valid;

-- step: transaction
alter table mail_codes validate constraint mail_codes_purpose_check;

-- step: transaction
-- When the user last signed in with the password. A sign-in writes the row anyway.
alter table passwords add column last_sign_in timestamptz;

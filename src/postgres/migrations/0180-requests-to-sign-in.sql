-- step: transaction
-- Requests for a mail to sign in with wait where those for a new password do. Their name is in a column of its own: a node of an earlier
-- release that takes one finds nobody, and sends no mail with a code for a new password instead.
alter table password_reset_requests add column sign_in_name text,
  drop constraint password_reset_requests_check,
  add constraint password_reset_requests_check check (num_nonnulls(login_name, email, name_or_email, sign_in_name) = 1) not valid;

-- step: transaction
alter table password_reset_requests validate constraint password_reset_requests_check;

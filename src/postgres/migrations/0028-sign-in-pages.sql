-- The page for forgotten passwords has one field: what has an @ may be a login name or an address, and is kept in a column of its
-- own. A node of the release before finds nobody by such a request, and forgets it.
alter table password_reset_requests add column name_or_email text;
alter table password_reset_requests drop constraint password_reset_requests_check;
alter table password_reset_requests
  add constraint password_reset_requests_check check (num_nonnulls(login_name, email, name_or_email) = 1);

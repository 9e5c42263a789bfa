-- replaces sha256 5e32f404dc13f644a3c5270a5fa6e49bafcaa51d6dd78d765e4891a0346e526c

-- step: transaction
-- The page for forgotten passwords has one field: what has an @ may be a login name or an address, and is kept in a column of its
-- own. A node of the release before finds nobody by such a request, and forgets it.
alter table password_reset_requests add column name_or_email text;
alter table password_reset_requests drop constraint password_reset_requests_check;
alter table password_reset_requests
  add constraint password_reset_requests_check check (num_nonnulls(login_name, email, name_or_email) = 1) not valid;

-- step: transaction
alter table password_reset_requests validate constraint password_reset_requests_check;

-- step: transaction
-- The colours of an organization's pages, and the hash of its logo.
create table brandings (
  owner text primary key,
  accent_color text not null,
  background_color text not null,
  dark_accent_color text not null,
  dark_background_color text not null,
  logo_hash text not null,
  logo_type text not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

-- The bytes of logos, which no fact holds.
create table branding_logos (
  owner text primary key,
  hash text not null,
  type text not null,
  bytes bytea not null
);

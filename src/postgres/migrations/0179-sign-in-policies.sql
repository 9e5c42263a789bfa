-- step: transaction
-- The ways to sign in besides password and passkey. Without a row, those of the instance, or else none.
create table sign_in_policies (
  owner text primary key,
  mail_codes boolean not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);
create index sign_in_policies_with_mail_codes on sign_in_policies (owner) where mail_codes;

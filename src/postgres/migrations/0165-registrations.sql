-- step: transaction
-- Who may register in an organization; without a row, nobody.
create table registration_policies (
  owner text primary key,
  audience text not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

-- Registrations whose address is not yet proven.
create table registrations (
  owner text not null,
  registration_id text primary key,
  expiration_date timestamptz not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);
create index registrations_of_owner on registrations (owner, registration_id);
create index registrations_expiration on registrations (expiration_date);

-- Their addresses, which are in no event, so that nothing is left of them once a registration is over; and the hash of the cookie of the
-- browser that asked last, if one did.
create table registration_addresses (
  registration_id text primary key,
  owner text not null,
  email text not null,
  browser bytea
);
create unique index registration_addresses_of_owner on registration_addresses (owner, lower(email));

-- step: transaction
-- The purpose `registration` is a code for a registration, whose id stands in place of a user's.
alter table mail_codes drop constraint mail_codes_purpose_check,
  add constraint mail_codes_purpose_check check (purpose in ('email', 'password', 'undo', 'invitation', 'registration')) not valid;

-- step: transaction
alter table mail_codes validate constraint mail_codes_purpose_check;

-- step: index
create unique index concurrently if not exists mail_codes_registration on mail_codes (mac) where purpose = 'registration';

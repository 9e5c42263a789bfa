-- step: transaction
-- Invitations into organizations that are pending or have expired, with what they offer.
create table invitations (
  owner text not null,
  invitation_id text primary key,
  inviter_id text not null,
  memberships jsonb not null,
  grants jsonb not null,
  expiration_date timestamptz not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);
create index invitations_of_owner on invitations (owner, invitation_id);
create index invitations_expiration on invitations (expiration_date);

-- The invited addresses. They are in no event, like a password, so that nothing is left of them once an invitation is gone.
create table invitation_addresses (
  invitation_id text primary key,
  owner text not null,
  email text not null
);
create unique index invitation_addresses_of_owner on invitation_addresses (owner, lower(email));

-- step: transaction
-- The purpose `invitation` is a code for an invitation, whose id stands in place of a user's.
alter table mail_codes drop constraint mail_codes_purpose_check,
  add constraint mail_codes_purpose_check check (purpose in ('email', 'password', 'undo', 'invitation')) not valid;

-- step: transaction
alter table mail_codes validate constraint mail_codes_purpose_check;

-- step: index
create unique index concurrently if not exists mail_codes_invitation on mail_codes (mac) where purpose = 'invitation';

-- Machines that act on behalf of users (RFC 8693). Nodes of before neither read nor write these tables.

-- step: transaction
-- For which APIs a machine accepts tokens of users, and for which it may exchange them: arrays of an application's id and its URI.
create table machine_delegations (
  user_id text primary key constraint machine_delegations_user references all_users (user_id) on delete cascade,
  owner text not null,
  served jsonb not null,
  targets jsonb not null
);

-- The access tokens that machines got for those of users, by the SHA-256 of what identifies them. One ends with the sign-in and with the
-- token that it was issued for, which is itself of this table if other machines acted before: `acted` has their ids, the last one first.
create table exchanged_tokens (
  hash bytea primary key,
  subject bytea not null,
  sign_on_id text not null constraint exchanged_tokens_sign_on references sign_ons (sign_on_id) on delete cascade,
  user_id text not null,
  credential_id text not null,
  acted text[] not null,
  served jsonb not null,
  resource jsonb not null,
  scope text not null,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index exchanged_tokens_of_sign_on on exchanged_tokens (sign_on_id, created) include (hash);
create index exchanged_tokens_of_machine on exchanged_tokens (user_id);
create index exchanged_tokens_expiration on exchanged_tokens (expiration_date);

-- Which machine acted for a user at which API, by an application's sign-in, and when it last did, to the hour.
create table acting_machines (
  user_id text not null,
  app_id text not null,
  machine_id text not null,
  api_id text not null,
  first_used timestamptz not null,
  last_used timestamptz not null,
  expiration_date timestamptz not null,
  primary key (user_id, app_id, machine_id, api_id)
);
create index acting_machines_latest on acting_machines (user_id, app_id, last_used);
create index acting_machines_expiration on acting_machines (expiration_date);

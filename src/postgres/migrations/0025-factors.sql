-- replaces sha256 f4fae6344c4c5029052b34584338ef623d87a1931d8499e753e0156f4561f69b

-- step: transaction
-- The factors of users beside their passwords. A user has one app and one set of recovery codes at most, and any number of passkeys.
create table factors (
  owner text not null,
  factor_id text primary key,
  user_id text not null constraint factors_user references users (user_id),
  kind text not null check (kind in ('totp', 'passkey', 'recovery_codes')),
  name text not null,
  is_synced boolean not null,
  last_used timestamptz,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);
create index factors_of_user on factors (user_id, factor_id);
create unique index factors_one_totp on factors (user_id) where kind = 'totp';
create unique index factors_one_set_of_codes on factors (user_id) where kind = 'recovery_codes';

-- Credentials: the secret of an app, and the key of the HMACs of recovery codes, both sealed. Only codes of a later step than the last
-- one are taken.
create table factor_secrets (
  factor_id text primary key,
  user_id text not null,
  sealed bytea not null,
  last_step bigint
);
create index factor_secrets_of_user on factor_secrets (user_id);

-- Credentials: the recovery codes that are left, as HMACs.
create table recovery_codes (
  factor_id text not null,
  mac bytea not null,
  user_id text not null,
  primary key (factor_id, mac)
);
create index recovery_codes_of_user on recovery_codes (user_id);

-- Credentials: the public keys of passkeys. The user handle is random; an authenticator knows the user by it.
create table passkeys (
  factor_id text primary key,
  user_id text not null,
  credential_id bytea not null constraint passkeys_credential unique,
  public_key bytea not null,
  user_handle bytea not null,
  counter bigint not null,
  transports text[] not null
);
create index passkeys_of_user on passkeys (user_id);

-- Credentials: enrolments that are not confirmed yet, one of each kind for a user.
create table factor_enrolments (
  user_id text not null,
  kind text not null,
  factor_id text not null,
  sealed bytea not null,
  expiration_date timestamptz not null,
  primary key (user_id, kind)
);
create index factor_enrolments_expiration on factor_enrolments (expiration_date);

-- Credentials: sign-ins whose password was right, and which wait for a factor, by the HMAC of their token. The password counts as long
-- as it is the one of `since`; `hashes` has the one that replaces it, or its hash at another cost.
create table pending_sessions (
  mac bytea primary key,
  user_id text not null,
  since text not null,
  challenge bytea not null,
  hashes jsonb not null,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index pending_sessions_challenge on pending_sessions (challenge);
create index pending_sessions_of_user on pending_sessions (user_id, created);
create index pending_sessions_expiration on pending_sessions (expiration_date);

-- Credentials: the challenges of sign-ins that ended; a race for one of them has one winner.
create table spent_challenges (
  challenge bytea constraint spent_challenges_once primary key,
  expiration_date timestamptz not null
);
create index spent_challenges_expiration on spent_challenges (expiration_date);

-- Wrong codes of factors since the last right one; the blocks become longer.
create table factor_attempts (
  user_id text primary key,
  attempts integer not null,
  blocked_until timestamptz
);

create table factor_policies (
  owner text primary key,
  requirement text not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

-- step: transaction
-- How the user of a session proved who it is (RFC 8176), and whether the session may only enrol a factor.
alter table sessions
  add column amr text[] not null default '{pwd}',
  add column enrolment_only boolean not null default false;

-- Credentials: browsers in which a user once signed in with everything that the sign-in asked for, by the hash of their cookie. One
-- counts as long as the password is the one that was set at `since`; `attempts` are its wrong passwords in a row.
create table known_browsers (
  hash bytea primary key,
  user_id text not null,
  since timestamptz,
  attempts integer not null default 0,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index known_browsers_of_user on known_browsers (user_id, created);
create index known_browsers_expiration on known_browsers (expiration_date);

-- Credentials: the failed sign-ins of browsers that are not known, in a row. The subject is the id of a user, or the HMAC of a login name
-- that nobody has. The last one that is allowed sets wait_until; waits counts how often that happened in a row.
create table sign_in_failures (
  subject text primary key,
  failures integer not null,
  waits integer not null,
  wait_until timestamptz,
  expiration_date timestamptz not null
);
create index sign_in_failures_expiration on sign_in_failures (expiration_date);

-- Whether the password came from a known browser: a lock does not end such a sign-in.
alter table pending_sessions add column is_known boolean not null default false;

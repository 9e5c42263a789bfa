-- Credentials: the wrong old passwords in a row with which a user tried to change its password, apart from those at sign-in. The
-- last one that is allowed sets blocked_until; blocks counts how often that happened in a row.
create table password_change_attempts (
  user_id text primary key,
  attempts integer not null,
  blocks integer not null default 0,
  blocked_until timestamptz
);

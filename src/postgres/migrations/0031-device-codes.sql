-- Sign-in on devices (RFC 8628). Credentials, as all of sign-in is: a device presents a code that is kept as its SHA-256, its user
-- enters a short one that is kept as an HMAC under the master key until it is used.

-- Pages know a sign-in on a device by its id, which leaves the server only sealed. After an approval the row is a child of the
-- sign-in and stays as long, to know the code when it comes again.
create table device_codes (
  hash bytea primary key,
  device_id text not null constraint device_codes_id unique,
  user_code_mac bytea constraint device_codes_user_code unique,
  app_id text not null,
  organization_id text,
  scope text not null,
  poll_seconds integer not null,
  polled timestamptz,
  denied timestamptz,
  sign_on_id text constraint device_codes_sign_on references sign_ons on delete cascade,
  used timestamptz,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index device_codes_sign_on on device_codes (sign_on_id) where sign_on_id is not null;
create index device_codes_app on device_codes (app_id) where sign_on_id is null;
create index device_codes_expiration on device_codes (expiration_date) where sign_on_id is null;

-- The attempts of a minute, on all nodes together: codes that users entered wrongly, and codes that devices asked for. A key is the
-- HMAC of what is counted and of the network it comes from.
create table device_attempts (
  key bytea not null,
  minute timestamptz not null,
  attempts integer not null,
  primary key (key, minute)
);
create index device_attempts_minute on device_attempts (minute);

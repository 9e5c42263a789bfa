-- The public keys of applications, or one URI where they are. A key is named by its kid in what it signs; version is that of the
-- application when the key was added, which orders keys of one millisecond.
create table application_keys (
  owner text not null,
  app_id text not null constraint application_keys_application references applications (app_id),
  key_id text not null,
  kid text,
  jwk jsonb,
  jwks_uri text,
  version bigint not null,
  created timestamptz not null,
  primary key (app_id, key_id),
  constraint application_keys_kid unique (app_id, kid),
  check (num_nonnulls(jwk, jwks_uri) = 1)
);

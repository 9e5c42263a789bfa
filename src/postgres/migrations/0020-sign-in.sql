-- Sign-in at applications (docs/sign-in.md). All of these are credentials: values that are presented are kept as their SHA-256.
-- replaces sha256 c2b2e138af105431d5538424313787f3c37af2e55a523884b9a29ee2ba9c3d7d

-- step: transaction
-- The keys that sign tokens. Of one algorithm the key signs whose signs_from is the latest that has come; a rebuild of the tables
-- leaves them, as private keys are in no fact.
create table signing_keys (
  kid text primary key,
  algorithm text not null,
  version bigint not null,
  public_key jsonb not null,
  sealed bytea not null,
  signs_from timestamptz not null,
  constraint signing_keys_version unique (algorithm, version)
);

-- The cookie of a browser that signed in. The row outlives the row of its session while anything that came of it does: the foreign
-- key below ends that with it, also where it is written at the same moment.
create table browser_sessions (
  session_id text primary key,
  owner text not null,
  user_id text not null,
  hash bytea not null constraint browser_sessions_hash unique,
  auth_time timestamptz not null,
  methods text[] not null,
  idle_date timestamptz not null,
  expiration_date timestamptz not null
);
create index browser_sessions_user on browser_sessions (user_id);
create index browser_sessions_expiration on browser_sessions (expiration_date);

-- The sign-in of a user to an application: all tokens of one code. It expires with the last of them.
create table sign_ons (
  sign_on_id text primary key,
  session_id text not null constraint sign_ons_session references browser_sessions on delete cascade,
  user_id text not null,
  app_id text not null,
  organization_id text not null,
  scope text not null,
  nonce text,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index sign_ons_session on sign_ons (session_id);
create index sign_ons_app on sign_ons (app_id);
create index sign_ons_expiration on sign_ons (expiration_date);

-- A code stays after it was used, to know it when it comes again.
create table authorization_codes (
  hash bytea primary key,
  sign_on_id text not null constraint authorization_codes_sign_on references sign_ons on delete cascade,
  redirect_uri text not null,
  challenge text,
  expiration_date timestamptz not null,
  used timestamptz
);
create index authorization_codes_sign_on on authorization_codes (sign_on_id);

-- Access tokens: opaque ones by their own hash, JWTs by that of their jti.
create table sign_on_tokens (
  hash bytea primary key,
  sign_on_id text not null constraint sign_on_tokens_sign_on references sign_ons on delete cascade,
  scope text not null,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index sign_on_tokens_sign_on on sign_on_tokens (sign_on_id);
create index sign_on_tokens_expiration on sign_on_tokens (expiration_date);

-- A refresh token that was replaced keeps its successor for a moment, sealed, for a client that lost the answer.
create table refresh_tokens (
  hash bytea primary key,
  sign_on_id text not null constraint refresh_tokens_sign_on references sign_ons on delete cascade,
  expiration_date timestamptz not null,
  replaced timestamptz,
  successor bytea
);
create index refresh_tokens_sign_on on refresh_tokens (sign_on_id);

-- The identifiers of assertions by which applications authenticated, until these expire: each counts once.
create table client_assertions (
  app_id text not null,
  hash bytea not null,
  expiration_date timestamptz not null,
  primary key (app_id, hash)
);
create index client_assertions_expiration on client_assertions (expiration_date);

-- The origins of an application: its additional ones, and those of its redirect URIs. Preflights of browsers name no client, so
-- they are found over all applications.
create function origins_of(oidc jsonb) returns text[] language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct origin), '{}') from (
    select value as origin from jsonb_array_elements_text(coalesce(oidc->'additionalOrigins', '[]'))
    union all
    select lower(substring(value from '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]+'))
    from jsonb_array_elements_text(coalesce(oidc->'redirectUris', '[]'))
  ) origins where origin is not null
$$;

-- step: index
create index concurrently if not exists applications_origins on applications using gin (origins_of(oidc));

-- The instance: its identity, and a value that only its master key can make.
create table instance (
  instance_id text primary key,
  key_check bytea not null,
  -- xid8 does not survive dump and restore: a database that was restored counts its transactions anew, in a new epoch.
  epoch integer not null default 1,
  one boolean not null default true unique check (one)
);

-- The facts. Positions are drawn before commit, so a follower reads what is settled, in the order (epoch, xid, position).
create table events (
  owner text not null,
  stream text not null,
  version bigint not null,
  position bigint generated always as identity,
  epoch integer not null default 1,
  xid xid8 not null default pg_current_xact_id(),
  type text not null,
  payload jsonb not null,
  actor text,
  request_id text not null,
  time timestamptz not null,
  primary key (owner, stream, version)
);
create unique index events_log on events (epoch, xid, position);
create index events_owner on events (owner, epoch, xid, position);
create index events_actor on events (actor, epoch, xid, position);

create function events_are_kept() returns trigger language plpgsql as $$
begin
  raise exception 'events are never changed' using errcode = 'insufficient_privilege';
end $$;
create trigger events_are_kept before update or delete on events for each row execute function events_are_kept();
create trigger events_are_not_truncated before truncate on events for each statement execute function events_are_kept();

-- Whether no event can still come to stand before one of this place: every transaction up to it has ended.
create function is_settled(epoch integer, xid xid8) returns boolean language sql stable as $$
  select $1 < (select i.epoch from instance i) or $2 < pg_snapshot_xmin(pg_current_snapshot())
$$;

-- How far each follower of the log has come.
create table checkpoints (
  follower text primary key,
  epoch integer not null,
  xid xid8 not null,
  position bigint not null
);

-- What a repeated write answers. Answers are sealed: they may hold a secret that is shown once.
create table idempotency (
  caller text not null,
  operation text not null,
  key text not null,
  request bytea not null,
  answer bytea not null,
  created timestamptz not null,
  primary key (caller, operation, key)
);
create index idempotency_created on idempotency (created);

create table organizations (
  organization_id text primary key,
  name text not null constraint organizations_name unique,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

create table users (
  owner text not null references organizations,
  user_id text not null constraint users_user_id unique,
  kind text not null,
  username text not null,
  given_name text,
  family_name text,
  email text,
  phone text,
  phone_verified boolean not null default false,
  name text,
  active boolean not null default true,
  locked boolean not null default false,
  locked_until timestamptz,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, user_id)
);
create index users_username on users (owner, username, user_id);

-- A directory of the instance: login names, folded for comparison.
create table login_names (
  login_name text primary key,
  owner text not null,
  user_id text not null
);
create index login_names_user on login_names (user_id);

create table sessions (
  owner text not null,
  session_id text not null constraint sessions_session_id unique,
  user_id text not null constraint sessions_user references users (user_id),
  expiration_date timestamptz not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, session_id)
);
create index sessions_of_user on sessions (user_id, session_id);

create table access_tokens (
  owner text not null,
  token_id text not null constraint access_tokens_token_id unique,
  user_id text not null constraint access_tokens_user references users (user_id),
  expiration_date timestamptz,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, token_id)
);
create index access_tokens_of_user on access_tokens (user_id, token_id);

-- A directory of the instance, and credentials: the SHA-256 of every bearer token that is in force.
create table bearers (
  hash bytea primary key,
  owner text not null,
  user_id text not null,
  session_id text,
  token_id text,
  expiration_date timestamptz,
  check (num_nonnulls(session_id, token_id) = 1)
);
create unique index bearers_session on bearers (session_id) where session_id is not null;
create unique index bearers_token on bearers (token_id) where token_id is not null;

-- Credentials: the argon2id hash of a password, and the ones before it.
create table passwords (
  user_id text primary key,
  owner text not null,
  hash text not null,
  changed timestamptz not null
);
create table password_history (
  user_id text not null,
  hash text not null,
  changed timestamptz not null,
  primary key (user_id, changed)
);

-- Wrong passwords in a row. An attempt is counted before the password is checked, so that parallel guesses count.
create table password_attempts (
  user_id text primary key,
  attempts integer not null
);

create table projects (
  owner text not null references organizations,
  project_id text not null constraint projects_project_id unique,
  name text not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, project_id),
  constraint projects_name unique (owner, name)
);

create table project_roles (
  owner text not null,
  project_id text not null constraint project_roles_project references projects (project_id),
  role_key text not null,
  display_name text not null,
  primary key (project_id, role_key)
);

create table project_grants (
  owner text not null,
  project_grant_id text not null constraint project_grants_project_grant_id unique,
  project_id text not null constraint project_grants_project references projects (project_id),
  granted_organization_id text not null constraint project_grants_organization references organizations,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, project_grant_id),
  constraint project_grants_once unique (project_id, granted_organization_id)
);
create index project_grants_granted on project_grants (granted_organization_id, project_id);

create table project_grant_roles (
  owner text not null,
  project_grant_id text not null constraint project_grant_roles_grant references project_grants (project_grant_id),
  project_id text not null,
  role_key text not null,
  primary key (project_grant_id, role_key),
  constraint project_grant_roles_role foreign key (project_id, role_key) references project_roles (project_id, role_key)
);
create index project_grant_roles_of_role on project_grant_roles (project_id, role_key);

create table user_grants (
  owner text not null references organizations,
  user_grant_id text not null constraint user_grants_user_grant_id unique,
  user_id text not null constraint user_grants_user references users (user_id),
  project_id text not null constraint user_grants_project references projects (project_id),
  project_grant_id text constraint user_grants_project_grant references project_grants (project_grant_id),
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, user_grant_id),
  constraint user_grants_once unique nulls not distinct (user_id, project_id, project_grant_id, owner)
);
create index user_grants_of_project on user_grants (project_id, owner, user_grant_id);
create index user_grants_of_project_grant on user_grants (project_grant_id) where project_grant_id is not null;

-- One row a role: plain foreign keys refuse a role that a concurrent command removes.
create table user_grant_roles (
  owner text not null,
  user_grant_id text not null constraint user_grant_roles_grant references user_grants (user_grant_id),
  project_id text not null,
  project_grant_id text,
  role_key text not null,
  primary key (user_grant_id, role_key),
  constraint user_grant_roles_role foreign key (project_id, role_key) references project_roles (project_id, role_key),
  constraint user_grant_roles_granted foreign key (project_grant_id, role_key)
    references project_grant_roles (project_grant_id, role_key)
);
create index user_grant_roles_of_role on user_grant_roles (project_id, role_key);
create index user_grant_roles_of_grant on user_grant_roles (project_grant_id, role_key) where project_grant_id is not null;

create table applications (
  owner text not null,
  app_id text not null constraint applications_app_id unique,
  project_id text not null constraint applications_project references projects (project_id),
  name text not null,
  client_id text not null,
  oidc jsonb not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, app_id),
  constraint applications_name unique (project_id, name)
);

-- A directory of the instance: client ids.
create table client_ids (
  client_id text primary key,
  owner text not null,
  app_id text not null
);
create index client_ids_app on client_ids (app_id);

-- Credentials: the SHA-256 of client secrets; an older one may live on for a while.
create table client_secrets (
  app_id text not null,
  hash bytea not null,
  expiration_date timestamptz,
  primary key (app_id, hash)
);

-- Who administers what. scope_id is the instance, organization, project or project grant.
create table members (
  owner text not null,
  member_id text not null,
  user_id text not null constraint members_user references users (user_id),
  scope text not null,
  scope_id text not null,
  project_id text constraint members_project references projects (project_id),
  project_grant_id text constraint members_project_grant references project_grants (project_grant_id),
  roles text[] not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, member_id),
  constraint members_once unique (user_id, scope, scope_id)
);
create index members_of_scope on members (scope, scope_id, member_id);
create index members_of_project on members (project_id) where project_id is not null;
create index members_of_project_grant on members (project_grant_id) where project_grant_id is not null;

create table password_policies (
  owner text primary key,
  minimum_length integer not null,
  requires_upper boolean not null,
  requires_lower boolean not null,
  requires_digit boolean not null,
  requires_symbol boolean not null,
  history_depth integer not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

create table lockout_policies (
  owner text primary key,
  maximum_attempts integer not null,
  lock_seconds double precision,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

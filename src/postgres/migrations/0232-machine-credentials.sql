-- Client secrets and keys of machines, and the access tokens issued for them. Nodes of before neither read nor write them.

-- step: transaction
create table machine_credentials (
  owner text not null,
  credential_id text not null constraint machine_credentials_credential_id unique,
  user_id text not null constraint machine_credentials_user references all_users (user_id),
  kid text,
  jwk jsonb,
  access_token_type text not null,
  expiration_date timestamptz,
  creator_id text,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  primary key (owner, credential_id),
  constraint machine_credentials_kid unique (user_id, kid),
  check (num_nonnulls(kid, jwk) in (0, 2))
);
create index machine_credentials_of_user on machine_credentials (user_id, credential_id);

-- Credentials: the SHA-256 of a client secret, and when a token was last issued for a secret or key, to the hour.
create table machine_proofs (
  credential_id text primary key,
  hash bytea,
  last_used timestamptz,
  last_used_origin jsonb
);

-- The access tokens of machines, by the SHA-256 of what identifies them. A token ends with its credential. One for our own API has no
-- project, and one for an API of a project has its application and URI, as in sign_on_tokens.
create table machine_tokens (
  hash bytea primary key,
  credential_id text not null constraint machine_tokens_credential references machine_proofs on delete cascade,
  user_id text not null,
  organization_id text not null,
  project_id text,
  resource jsonb,
  scope text not null,
  for_api boolean not null,
  created timestamptz not null,
  expiration_date timestamptz not null
);
create index machine_tokens_of_credential on machine_tokens (credential_id, created) include (hash);
create index machine_tokens_of_user on machine_tokens (user_id);
create index machine_tokens_expiration on machine_tokens (expiration_date);

-- The client ids of machines. Those of applications are in client_ids, and no id is ever in both: used_client_ids has each one only once.
-- A node of an earlier release deletes users without knowing that they may have a client id, which stays used up.
create table machine_client_ids (
  client_id text primary key,
  owner text not null,
  user_id text not null constraint machine_client_ids_user unique
    constraint machine_client_ids_of_user references all_users (user_id) on delete cascade
);
create trigger client_id_is_used after insert on machine_client_ids for each row execute function client_id_is_used();

-- step: transaction
-- A client id outlives the events of its machine, as a user id does, and a replay of the log no longer finds it then.
create function burn_client_id() returns trigger language plpgsql as $$
begin
  insert into burned_ids (id) values (old.payload->>'clientId') on conflict (id) do nothing;
  delete from used_client_ids where client_id = old.payload->>'clientId';
  return null;
end $$;
create trigger events_burn_client_ids after delete on events for each row
when (old.type = 'user.client_id_assigned') execute function burn_client_id();

-- step: transaction
-- Also finds the client secrets and keys that others created for a machine.
create or replace function refuse_outgrown() returns trigger language plpgsql as $$
begin
  delete from roles_given where member_id = new.member_id;
  if exists (select from access_tokens t where t.user_id = new.user_id and not new.kept_creators ? t.creator_id)
    or exists (select from machine_credentials c where c.user_id = new.user_id
      and not new.kept_creators ? coalesce(c.creator_id, ''))
    or exists (select from mail_codes c where c.user_id = new.user_id and not new.kept_creators ? c.creator_id)
    or exists (select from phone_codes c where c.user_id = new.user_id and not new.kept_creators ? c.creator_id)
  then
    raise exception 'a lesser administrator created something for the user' using errcode = 'unique_violation', constraint = 'roles_given';
  end if;
  return null;
end $$;

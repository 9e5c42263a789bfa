-- replaces sha256 1d64949f55627a4876f06fd33e3b9a503a7d6941bf5c1c9b85f3cf9bdaf46326

-- step: transaction
-- The organizations that can give a user no roles of a kind, since the user or its own organization ended those that they gave.
create table ended_roles (
  user_id text collate "C" not null,
  organization_id text collate "C" not null,
  kind text not null,
  by_administrator boolean not null,
  ended timestamptz not null,
  primary key (user_id, organization_id, kind)
);
create index ended_roles_of_organization on ended_roles (organization_id);

-- step: index
-- As user_grants_of_user, for memberships.
create index concurrently if not exists members_of_user on members (user_id collate "C", owner collate "C", member_id collate "C");

-- step: transaction
-- A role that is given while others of its kind are ended was decided without seeing that: it loses its race. The trigger looks
-- when the row of the user is locked already, by the reference to it. Whoever ends roles waits for that lock afterwards, and then
-- finds what this did not refuse.
create function refuse_ended_role() returns trigger language plpgsql as $$
begin
  if exists (
    select from ended_roles e
    where e.user_id = new.user_id and e.organization_id = new.owner and e.kind = tg_argv[0]
  ) then
    raise exception 'the receiver ended such roles' using errcode = 'unique_violation', constraint = 'ended_roles_pkey';
  end if;
  return null;
end $$;

-- step: transaction
-- They fire after the reference to the user was checked, as triggers do in the order of their names. Constraint triggers decide races,
-- so that a replay of the log, where the races are decided, does without them.
create constraint trigger "ended roles" after insert on members
  for each row execute function refuse_ended_role('ROLE_KIND_MEMBERSHIP');

-- step: transaction
create constraint trigger "ended roles" after insert on user_grants
  for each row execute function refuse_ended_role('ROLE_KIND_USER_GRANT');

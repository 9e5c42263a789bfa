-- Where calls came from, and which user and project events are about. Nodes of before write neither: a trigger fills in the latter.

-- step: transaction
alter table events add column origin jsonb, add column about_user_id text, add column project_id text;

-- step: transaction
alter table jobs add column origin jsonb;

-- step: transaction
alter table sessions add column origin jsonb;

-- step: transaction
alter table bearers add column last_used_origin jsonb;

-- step: transaction
alter table browser_sessions add column last_used timestamptz, add column last_used_origin jsonb;

-- step: transaction
-- The user and the project that an event is about. If its payload names neither, the first event of its object does.
create function subjects_of(type text, owner text, stream text, version bigint, payload jsonb, out about_user_id text, out project_id text)
language plpgsql stable as $$
declare
  noun text := split_part(type, '.', 1);
begin
  about_user_id := case when noun = 'user' then stream else payload->>'userId' end;
  project_id := case when noun = 'project' then stream else nullif(payload->>'projectId', '') end;
  if version > 1 and noun in ('user_grant', 'member', 'factor', 'access_token', 'application', 'project_grant') then
    select coalesce(subjects_of.about_user_id, e.about_user_id), coalesce(subjects_of.project_id, e.project_id)
    into about_user_id, project_id
    from events e where e.owner = subjects_of.owner and e.stream = subjects_of.stream and e.version = 1;
    -- The first event may not be filled in yet.
    if project_id is null and (about_user_id is null or noun = 'member') then
      select coalesce(subjects_of.about_user_id, f.about_user_id), f.project_id into about_user_id, project_id
      from events e cross join lateral subjects_of(e.type, e.owner, e.stream, e.version, e.payload) f
      where e.owner = subjects_of.owner and e.stream = subjects_of.stream and e.version = 1;
    end if;
  elsif project_id is null and payload->>'projectGrantId' <> '' then
    select e.payload->>'projectId' into project_id from events e
    where e.stream = subjects_of.payload->>'projectGrantId' and e.type = 'project_grant.created' order by e.time limit 1;
  end if;
end $$;

create function write_subjects() returns trigger language plpgsql as $$
declare
  subjects record;
begin
  subjects := subjects_of(new.type, new.owner, new.stream, new.version, new.payload);
  new.about_user_id := subjects.about_user_id;
  new.project_id := subjects.project_id;
  return new;
end $$;
create trigger events_subjects before insert on events for each row
  when (new.type !~ '^(instance|organization|policy|signing_key)\.') execute function write_subjects();

-- Events are never changed; what they are about is only filled in.
create or replace function events_are_kept() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.about_user_id is null and old.project_id is null
      and to_jsonb(new) - 'about_user_id' - 'project_id' = to_jsonb(old) - 'about_user_id' - 'project_id' then
    return new;
  end if;
  raise exception 'events are never changed' using errcode = 'insufficient_privilege';
end $$;

-- step: batches of events by owner, stream, version
update events e set (about_user_id, project_id) = (
  select s.about_user_id, s.project_id from subjects_of(e.type, e.owner, e.stream, e.version, e.payload) s)
where :batch and e.about_user_id is null and e.project_id is null and e.type !~ '^(instance|organization|policy|signing_key)\.';

-- step: index
create index concurrently if not exists events_about_user on events (about_user_id, time, position) where about_user_id is not null;

-- step: index
create index concurrently if not exists events_of_project on events (project_id, time, position) where project_id is not null;

-- step: index
create index concurrently if not exists events_of_type on events (owner, type, time, position);

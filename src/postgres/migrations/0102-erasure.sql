-- step: transaction
-- Users who are waiting for erasure are marked as deleted, and have a date until which they can be restored.
alter table all_users add column erasure_date timestamptz;

-- step: index
-- Such users are few at any time, so lists ask this index for each of their rows.
create index concurrently if not exists users_hidden on all_users (user_id) where deleted;

-- step: index
create index concurrently if not exists users_waiting_for_erasure on all_users (erasure_date) where erasure_date is not null;

-- step: index
create index concurrently if not exists users_waiting_for_erasure_in on all_users (owner) where erasure_date is not null;

-- step: index
create index concurrently if not exists mail_messages_of_user on mail_messages (user_id);

-- step: transaction
create table privacy_policies (
  owner text primary key,
  restore_days integer not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

-- step: transaction
-- An object of an event without some of its fields: texts become empty, and anything else is left out.
create function blanked(whole jsonb, fields jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(key, case when fields ? key then '""' else value end)
    filter (where jsonb_typeof(value) = 'string' or not fields ? key), '{}')
  from jsonb_each(whole) where whole is not null
$$;

-- Whether nothing was changed in a value but that texts became empty and fields were left out.
create function is_blanked(before jsonb, after jsonb) returns boolean language plpgsql immutable as $$
begin
  if before is not distinct from after then
    return true;
  elsif before is null or after is null then
    return false;
  elsif jsonb_typeof(before) = 'string' then
    return after = '""';
  elsif jsonb_typeof(before) <> 'object' or jsonb_typeof(after) <> 'object' then
    return false;
  end if;
  return not exists (select from jsonb_each(after) a where not is_blanked(before->a.key, a.value));
end $$;

-- Erases what is personal from the next events about a user who was deleted for that, in the order of their times: from their data, and
-- from the origins of those that nobody else caused. `personal` has the names of such fields by type of event, and of those of an origin.
create function erase_events(person text, personal jsonb, after jsonb, most integer, out examined integer, out place jsonb)
language plpgsql as $$
begin
  if not exists (
    select from events e where e.stream = person and e.type = 'user.deleted' and (e.payload->>'erases')::boolean
  ) then
    raise exception 'events of a user who was not erased are never changed' using errcode = 'insufficient_privilege';
  end if;
  with stretch as materialized (
    select e.owner, e.stream, e.version, e.time, e.position,
      blanked(e.payload, coalesce(personal->e.type, '[]')) as payload,
      case when e.origin is not null and coalesce(e.actor, person) = person then blanked(e.origin, personal->'origin')
        else e.origin end as origin
    from events e
    where e.about_user_id = person
      and (e.time, e.position) > (coalesce((after->>'time')::timestamptz, '-infinity'), coalesce((after->>'position')::bigint, 0))
    order by e.time, e.position limit most
  ),
  erased as (
    update events e set payload = s.payload, origin = s.origin from stretch s
    where e.owner = s.owner and e.stream = s.stream and e.version = s.version
      and (e.payload, e.origin) is distinct from (s.payload, s.origin)
  )
  select count(*), (
    select jsonb_build_object('time', s.time, 'position', s.position) from stretch s order by s.time desc, s.position desc limit 1)
  into examined, place from stretch;
end $$;

-- Events are never changed, except that this one function erases what is personal.
create or replace function events_are_kept() returns trigger language plpgsql as $$
declare
  context text;
begin
  if tg_op = 'UPDATE' then
    get diagnostics context = pg_context;
    if context like '%erase_events(text,jsonb,jsonb,integer)%'
        and to_jsonb(new) - 'payload' - 'origin' = to_jsonb(old) - 'payload' - 'origin'
        and is_blanked(old.payload, new.payload) and is_blanked(old.origin, new.origin) then
      return new;
    end if;
  end if;
  raise exception 'events are never changed' using errcode = 'insufficient_privilege';
end $$;

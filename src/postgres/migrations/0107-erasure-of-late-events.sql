-- step: transaction
-- Whether a user was deleted for erasure. Nothing follows that but one event that the erasure is over, so this reads two of their events.
create function is_erased(person text) returns boolean language sql as $$
  select coalesce(bool_or(last.type = 'user.deleted' and (last.payload->>'erases')::boolean), false)
  from (select e.type, e.payload from events e where e.stream = person order by e.time desc, e.position desc limit 2) last
$$;

-- The lock that is held while events about a user are erased, and shared while events of attempts are written.
create function erasure_lock(person text) returns bigint language sql immutable as $$
  select hashtextextended('erasure of ' || person, 0)
$$;

-- As before, but what was noted of an attempt before the deletion, and is being written now, is waited for.
create or replace function erase_events(person text, personal jsonb, after jsonb, most integer, out examined integer, out place jsonb)
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(erasure_lock(person));
  if not is_erased(person) then
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

-- step: transaction
-- Attempts are written a moment after they were made, at which the user may be erased already. Then they do not say from where. All other
-- events about a user refer to a row that the deletion removes.
create function write_no_late_origin() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(erasure_lock(new.about_user_id));
  if is_erased(new.about_user_id) then
    new.origin := null;
  end if;
  return new;
end $$;

-- It comes after the trigger that writes whom the event is about: triggers take turns by name.
create trigger events_without_traces before insert on events for each row
  when (starts_with(new.type, 'attempt.') and new.origin is not null and new.about_user_id is not null)
  execute function write_no_late_origin();

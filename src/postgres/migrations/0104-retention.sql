-- step: transaction
-- How long events are kept. Without a row, always.
create table retention_policies (
  owner text primary key,
  sign_in_days integer,
  administration_days integer,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);

-- How far the log was searched for objects that have ended, by time, and how many events were deleted.
create table retention_progress (
  kind text primary key,
  time timestamptz not null default '-infinity',
  position bigint not null default 0,
  deleted bigint not null default 0
);
insert into retention_progress (kind) values ('administration'), ('sign_in');

-- Objects that were found before they had ended, such as sessions that nobody ends before they expire.
create table retention_waits (
  owner text not null,
  stream text not null,
  kind text not null,
  until timestamptz not null,
  primary key (owner, stream)
);
create index retention_waits_due on retention_waits (kind, until);

-- step: index
-- What ends with its user, also without an event of its own.
create index concurrently if not exists events_ending_with_user on events (about_user_id)
  where version = 1 and type ~ '^(factor|consent)\.';

-- step: transaction
-- The ids of users whose events are gone, because no other user may ever get one.
create table burned_ids (
  id text primary key
);

-- Searches the next events for the last ones of objects that ended longer ago than the retention policy says, and deletes all events of
-- these objects. The clocks of the caller and of the database must agree that an event is old. At most `most` events are searched and as
-- many deleted, so that objects with many events take several calls. What the contract says is in `contract`: the types of the last events
-- (`ends`), by noun the field of the first event that tells when an object ends otherwise (`expires`), the nouns of what ends with its user
-- (`withUser`), those of whose events the origin loses fields (`blanks`), and these fields (`origin`).
create function expire_events(of_kind text, contract jsonb, at timestamptz, most integer, out examined integer, out gone integer)
language plpgsql as $$
declare
  days integer;
  reached retention_progress;
  old timestamptz;
begin
  examined := 0;
  gone := 0;
  select case of_kind when 'sign_in' then p.sign_in_days else p.administration_days end into days
  from retention_policies p join instance i on i.instance_id = p.owner;
  if days is null or exists (select from leases where work = 'replay' and until > now()) then
    return;
  end if;
  select r.* into reached from retention_progress r where r.kind = of_kind for update skip locked;
  if reached.kind is null then
    return;
  end if;
  old := least(expire_events.at, clock_timestamp()) - make_interval(days => days);
  with walked as materialized (
    select e.owner, e.stream, e.version, e.type, split_part(e.type, '.', 1) as noun, e.time, e.position from events e
    where (e.time, e.position) > (reached.time, reached.position) and e.time < old
    order by e.time, e.position limit most
  ),
  -- Whoever deletes an object in a job still reads its events.
  found as materialized (
    select w.*, case
      when not contract->'ends' ? w.type then (
        select (f.payload->>(contract->'expires'->>w.noun))::timestamptz from events f
        where f.owner = w.owner and f.stream = w.stream and f.version = 1)
      when exists (select from jobs j where j.owner = w.owner and j.stream = w.stream and j.ended is null)
        or not exists (select from event_numbers n where n.position = w.position) then clock_timestamp()
      else w.time end as over
    from walked w
    where (contract->'ends' ? w.type or contract->'expires' ? w.noun)
      and not exists (select from events l where l.owner = w.owner and l.stream = w.stream and l.version > w.version)
  ),
  waiting as (
    insert into retention_waits (owner, stream, kind, until)
    select f.owner, f.stream, of_kind, f.over from found f where f.over >= old
    on conflict (owner, stream) do update set until = excluded.until
  ),
  waited as materialized (
    select w.owner, w.stream, w.until from retention_waits w where w.kind = of_kind and w.until < old order by w.until limit most
  ),
  ended as materialized (
    select 0 as turn, w.owner, w.stream, w.until as over, 0::bigint as place from waited w
    where not exists (select from jobs j where j.owner = w.owner and j.stream = w.stream and j.ended is null)
      and not exists (select from events l where l.owner = w.owner and l.stream = w.stream and l.time >= old)
    union all
    select 1, f.owner, f.stream, f.time, f.position from found f where f.over < old
  ),
  objects as (
    select e.*, 1 as last from ended e
    union all
    select u.turn, e.owner, e.stream, u.over, u.place, 0
    from ended u join events e on e.about_user_id = u.stream and e.version = 1 and e.type ~ '^(factor|consent)\.'
    where contract->'withUser' <> '[]'
  ),
  -- An object loses its oldest events first, and its last one at the end. What ends with its user goes before the user, and loses its first
  -- event at the end, by which it is found. So a replay of what is left gives the same at any time.
  doomed as materialized (
    select o.turn, o.over, o.place, e.owner, e.stream, e.version,
      row_number() over (
        order by o.turn, o.over, o.place, o.last, o.owner, o.stream, case o.last when 1 then e.version else -e.version end) as n
    from objects o cross join lateral (
      (select * from events where o.last = 1 and owner = o.owner and stream = o.stream order by version limit most + 1)
      union all
      (select * from events where o.last = 0 and owner = o.owner and stream = o.stream order by version desc limit most + 1)) e
  ),
  deleted as (
    delete from events e using doomed d
    where d.n <= most and e.owner = d.owner and e.stream = d.stream and e.version = d.version
    returning e.owner, e.stream, e.version, e.type, e.position
  ),
  numbers as (delete from event_numbers n using deleted d where n.position = d.position),
  users_of as materialized (select distinct d.stream as id from deleted d where d.type like 'user.%'),
  burned as (insert into burned_ids (id) select u.id from users_of u on conflict (id) do nothing),
  chosen as (delete from chosen_ids c using users_of u where c.id = u.id),
  waited_for as (
    delete from retention_waits w using waited x
    where w.owner = x.owner and w.stream = x.stream
      and not exists (select from jobs j where j.owner = w.owner and j.stream = w.stream and j.ended is null)
      and not exists (select from doomed d where d.turn = 0 and d.owner = w.owner and d.stream = w.stream and d.n > most)
  ),
  blank as (
    update events e set origin = blanked(e.origin, contract->'origin') from walked w
    where e.owner = w.owner and e.stream = w.stream and e.version = w.version
      and contract->'blanks' ? w.noun and e.origin is not null and e.origin <> blanked(e.origin, contract->'origin')
      and not exists (select from doomed d where d.owner = w.owner and d.stream = w.stream and d.version = w.version)
  )
  select (select count(*) from walked), (select count(*) from deleted),
    coalesce(r.time, reached.time), coalesce(r.position, reached.position)
  into examined, gone, reached.time, reached.position
  from (select count(*) > most as is_cut from doomed) c left join lateral (
    (select w.time, w.position from walked w where not c.is_cut order by w.time desc, w.position desc limit 1)
    union all
    (select d.over, d.place from doomed d where c.is_cut and d.turn = 1 group by d.over, d.place having max(d.n) <= most
     order by d.over desc, d.place desc limit 1)) r on true;
  update retention_progress r set time = reached.time, position = reached.position, deleted = r.deleted + gone where r.kind = of_kind;
end $$;

-- Events are never changed, except that erase_events erases what is personal, and expire_events deletes what is no longer kept.
create or replace function events_are_kept() returns trigger language plpgsql as $$
declare
  context text;
begin
  get diagnostics context = pg_context;
  if tg_op = 'DELETE' and context like '%expire_events(text,jsonb,timestamp with time zone,integer)%' then
    return old;
  elsif tg_op = 'UPDATE' then
    if context like '%erase_events(text,jsonb,jsonb,integer)%'
        and to_jsonb(new) - 'payload' - 'origin' = to_jsonb(old) - 'payload' - 'origin'
        and is_blanked(old.payload, new.payload) and is_blanked(old.origin, new.origin) then
      return new;
    elsif context like '%expire_events(text,jsonb,timestamp with time zone,integer)%'
        and to_jsonb(new) - 'origin' = to_jsonb(old) - 'origin' and is_blanked(old.origin, new.origin) then
      return new;
    end if;
  end if;
  raise exception 'events are never changed' using errcode = 'insufficient_privilege';
end $$;

-- step: transaction
-- Events that got a time of more than a day ago, such as those of a node whose clock is behind, if there is or was a retention policy. The
-- search by time may have passed them; as the days of a policy are at least one, it cannot have passed any others.
create table retention_late (
  kind text not null,
  position bigint not null,
  owner text not null,
  stream text not null,
  version bigint not null,
  time timestamptz not null,
  primary key (kind, position)
);

create function note_late_event() returns trigger language plpgsql as $$
begin
  insert into retention_late (kind, position, owner, stream, version, time)
  select r.kind, new.position, new.owner, new.stream, new.version, new.time from retention_progress r
  where r.time > '-infinity' or exists (
    select from retention_policies p where case r.kind when 'sign_in' then p.sign_in_days else p.administration_days end is not null);
  return null;
end $$;

-- As before, but late events are examined, too.
create or replace function expire_events(of_kind text, contract jsonb, at timestamptz, most integer, out examined integer, out gone integer)
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
  -- Later ones are found by their time. If the events that the walk comes to are many, late ones have their turn as well.
  late as materialized (
    select l.position, l.owner, l.stream, l.version from retention_late l
    where l.kind = of_kind and l.time < old and (l.time, l.position) <= (reached.time, reached.position)
    order by l.position limit most
  ),
  seen as materialized (
    select 1 as turn, w.* from walked w
    union all
    select 0, e.owner, e.stream, e.version, e.type, split_part(e.type, '.', 1), e.time, e.position
    from late l join events e on e.owner = l.owner and e.stream = l.stream and e.version = l.version
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
    from seen w
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
    select f.turn, f.owner, f.stream, f.time, f.position from found f where f.over < old
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
  examined_late as (
    delete from retention_late r using late l
    where r.kind = of_kind and r.position = l.position
      and not exists (select from doomed d where d.turn = 0 and d.owner = l.owner and d.stream = l.stream and d.n > most)
  ),
  blank as (
    update events e set origin = blanked(e.origin, contract->'origin') from seen w
    where e.owner = w.owner and e.stream = w.stream and e.version = w.version
      and contract->'blanks' ? w.noun and e.origin is not null and e.origin <> blanked(e.origin, contract->'origin')
      and not exists (select from doomed d where d.owner = w.owner and d.stream = w.stream and d.version = w.version)
  )
  select (select count(*) from walked) + (select count(*) from late), (select count(*) from deleted),
    coalesce(r.time, reached.time), coalesce(r.position, reached.position)
  into examined, gone, reached.time, reached.position
  from (select count(*) > most as is_cut from doomed) c left join lateral (
    (select w.time, w.position from walked w where not c.is_cut order by w.time desc, w.position desc limit 1)
    union all
    (select d.over, d.place from doomed d where c.is_cut and d.turn = 1 group by d.over, d.place having max(d.n) <= most
     order by d.over desc, d.place desc limit 1)) r on true;
  update retention_progress r set time = reached.time, position = reached.position, deleted = r.deleted + gone where r.kind = of_kind;
end $$;

-- step: transaction
create trigger events_late after insert on events for each row
  when (new.time < now() - interval '1 day') execute function note_late_event();

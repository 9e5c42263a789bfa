-- The order of the log: events get their numbers once they are committed, in batches, so an open transaction delays only its own events.
-- The difference of two snapshots is what was committed between them. The number of an event and the random id of its batch form a
-- position: after a restore, or a failover that lost transactions, the same numbers belong to batches with other ids.
create table event_batches (
  first bigint primary key,
  last bigint not null,
  id text not null default substr(md5(gen_random_uuid()::text), 1, 16),
  epoch integer not null,
  snapshot pg_snapshot not null
);
-- Positions of earlier releases name a transaction; this finds the first batch that may contain events of later ones.
create index event_batches_by_transaction on event_batches (epoch, pg_snapshot_xmax(snapshot), first);

create table event_numbers (
  number bigint primary key,
  position bigint not null constraint event_numbers_once unique,
  epoch integer not null,
  xid xid8 not null
);

-- The end of an empty log.
insert into event_batches (first, last, epoch, snapshot) values (0, 0, 0, '1:1:');

-- Numbers the next batch of committed events and returns their count: at most 5,000, and the rest of the last one's transaction. Returns
-- null if another session is numbering, unless it may wait for that session.
create function number_events(waits boolean) returns integer language plpgsql as $$
declare
  before event_batches;
  numbered integer;
begin
  -- A locked table must not hold up the followers of the log for longer.
  perform set_config('lock_timeout', '1s', true);
  if waits then
    perform pg_advisory_xact_lock(7710653298);
  elsif not pg_try_advisory_xact_lock(7710653298) then
    return null;
  end if;
  -- Each statement has a snapshot of its own, so this one sees what the previous holder of the lock has committed.
  select b.* into before from event_batches b order by b.first desc limit 1;
  with seen as materialized (
    select pg_current_snapshot() as snapshot, coalesce((select i.epoch from instance i), 1) as epoch
  ),
  -- With more events than fit, the batch ends with the transaction of the last one.
  bound as materialized (
    select e.epoch, e.xid from events e where (e.epoch, e.xid) >= (before.epoch, pg_snapshot_xmax(before.snapshot))
    order by e.epoch, e.xid, e.position offset 4999 limit 1
  ),
  upto as materialized (
    select coalesce(b.epoch, s.epoch) as epoch, coalesce(b.xid, pg_snapshot_xmax(s.snapshot)) as xid,
      case when b.xid is null then s.snapshot
        when b.epoch < s.epoch then pg_snapshot(format('%1$s:%1$s:', b.xid::text::numeric + 1))
        else pg_snapshot(format('%s:%s:%s',
          least(pg_snapshot_xmin(s.snapshot)::text::numeric, b.xid::text::numeric + 1), b.xid::text::numeric + 1,
          (select string_agg(x::text, ',' order by x) from pg_snapshot_xip(s.snapshot) x where x <= b.xid)))
      end as snapshot
    from seen s left join bound b on true
  ),
  fresh as materialized (
    select e.epoch, e.xid, e.position from events e
    where e.epoch = before.epoch and e.xid = any(array(select pg_snapshot_xip(before.snapshot)))
    union all
    select e.epoch, e.xid, e.position from events e
    where (e.epoch, e.xid) >= (before.epoch, pg_snapshot_xmax(before.snapshot))
      and (e.epoch, e.xid) <= ((select u.epoch from upto u), (select u.xid from upto u))
  ),
  numbers as (
    insert into event_numbers (number, position, epoch, xid)
    select before.last + row_number() over (order by f.epoch, f.xid, f.position), f.position, f.epoch, f.xid from fresh f
    returning number
  ),
  batch as (
    insert into event_batches (first, last, epoch, snapshot)
    select before.last + 1, before.last + counted.count, u.epoch, u.snapshot
    from upto u, (select count(*) as count from numbers) counted where counted.count > 0
  )
  select count(*) into numbered from numbers;
  return numbered;
end $$;

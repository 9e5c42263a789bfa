-- As before, but by no plan, whatever size the tables once had and whatever version of PostgreSQL, are all events of the log or of an
-- organization read, or all batches.

-- Brings a subscription to rest whose matching events up to the position are delivered, unless there are more.
create or replace function rest_subscription(id text, held_lease bigint, at_number bigint, at_batch text) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7710653299);
  update subscription_deliveries d set attempts = 0, failure = null, failing_since = null,
    number = case when is_position_held(at_number, at_batch) then at_number else d.number end,
    batch = case when is_position_held(at_number, at_batch) then at_batch else d.batch end,
    due = case
      when s.paused then 'infinity'
      when not is_position_held(at_number, at_batch) then now()
      when (select b.last from event_batches b order by b.first desc limit 1) > at_number + 500 then now()
      when exists (
        select from (select epoch, xid, position from event_numbers where number > at_number order by number) n
        cross join lateral (
          select owner, type from events where epoch = n.epoch and xid = n.xid and events.position = n.position offset 0) e
        where (s.instance or e.owner = s.owner) and (s.types = '{}' or e.type = any(s.types))) then now()
      else 'infinity' end
  from subscriptions s
  where d.subscription_id = id and s.subscription_id = id and d.lease = held_lease and d.dead is null;
end $$;

-- Numbers the next batch of committed events and returns their count: at most 5,000, and the rest of the last one's transaction. Returns
-- null if another session is numbering, unless it may wait for that session.
create or replace function number_events(waits boolean) returns integer language plpgsql as $$
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
    select e.epoch, e.xid, e.position from pg_snapshot_xip(before.snapshot) as open (xid) cross join lateral (
      select epoch, xid, events.position from events where epoch = before.epoch and events.xid = open.xid offset 0) e
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
  if numbered > 0 then
    perform wake_subscriptions(before);
  end if;
  return numbered;
end $$;

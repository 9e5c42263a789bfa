-- Subscriptions to events, and how far the delivery of each has come.
create table subscriptions (
  owner text not null,
  subscription_id text primary key,
  url text not null,
  types text[] not null,
  instance boolean not null,
  paused boolean not null default false,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null
);
create index subscriptions_of_owner on subscriptions (owner, subscription_id);
create index subscriptions_to_all on subscriptions (subscription_id) where instance;

create table subscription_secrets (
  subscription_id text primary key,
  sealed bytea not null,
  previous bytea,
  previous_end timestamptz
);

-- The receiver has accepted every event up to the position. What has nothing to deliver is due at infinity; its position may be an old one,
-- because whoever numbers an event for it moves it to the end of the batch before.
create table subscription_deliveries (
  subscription_id text primary key,
  owner text not null,
  number bigint not null,
  batch text not null,
  due timestamptz not null,
  lease bigint not null default 0,
  attempts integer not null default 0,
  failure text,
  failing_since timestamptz,
  dead timestamptz
);
create index subscription_deliveries_due on subscription_deliveries (due) where dead is null and due < 'infinity';
create index subscription_deliveries_of_owner on subscription_deliveries (owner, due) where dead is null and due < 'infinity';
create index subscription_deliveries_dead on subscription_deliveries (dead) where dead is not null;

create view subscriptions_to_deliver as select * from subscription_deliveries where due < 'infinity';

-- Whether the log has the position; a position before the first event has no batch.
create function is_position_held(at_number bigint, at_batch text) returns boolean language sql stable as $$
  select at_batch = '' or coalesce((
    select b.id = at_batch and b.last >= at_number from event_batches b where b.first <= at_number order by b.first desc limit 1), false)
$$;

-- Wakes the subscriptions that have nothing to deliver but events of batches after this one. A subscription that comes to rest takes the
-- same lock, so that either it is seen here, or it sees these events.
create function wake_subscriptions(before event_batches) returns void language plpgsql as $$
begin
  if not exists (select from subscriptions) then
    return;
  end if;
  perform pg_advisory_xact_lock(7710653299);
  with fresh as materialized (
    select distinct e.owner, e.type from event_numbers n
    join events e on e.epoch = n.epoch and e.xid = n.xid and e.position = n.position
    where n.number > before.last
  ),
  woken as materialized (
    select s.subscription_id from (select distinct owner from fresh) f join subscriptions s on s.owner = f.owner
    where not s.instance and not s.paused
      and (s.types = '{}' or exists (select from fresh x where x.owner = f.owner and x.type = any(s.types)))
    union all
    select s.subscription_id from subscriptions s
    where s.instance and not s.paused and (s.types = '{}' or exists (select from fresh x where x.type = any(s.types)))
  )
  update subscription_deliveries d set due = now(), number = before.last, batch = before.id
  from woken w where d.subscription_id = w.subscription_id and d.due = 'infinity' and d.dead is null;
end $$;

-- Brings a subscription to rest whose matching events up to the position are delivered, unless there are more.
create function rest_subscription(id text, held_lease bigint, at_number bigint, at_batch text) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(7710653299);
  update subscription_deliveries d set attempts = 0, failure = null, failing_since = null,
    number = case when is_position_held(at_number, at_batch) then at_number else d.number end,
    batch = case when is_position_held(at_number, at_batch) then at_batch else d.batch end,
    due = case
      when s.paused then 'infinity'
      when not is_position_held(at_number, at_batch) then now()
      when exists (select from event_batches b where b.last > at_number + 500) then now()
      when exists (
        select from event_numbers n join events e on e.epoch = n.epoch and e.xid = n.xid and e.position = n.position
        where n.number > at_number and (s.instance or e.owner = s.owner) and (s.types = '{}' or e.type = any(s.types))) then now()
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
  if numbered > 0 then
    perform wake_subscriptions(before);
  end if;
  return numbered;
end $$;

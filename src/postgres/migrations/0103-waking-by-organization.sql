-- Wakes the subscriptions that have nothing to deliver but events of batches after this one. A subscription that comes to rest takes the
-- same lock, so that either it is seen here, or it sees these events. Everybody's numbering waits for this, so it compares a subscription
-- once with the types of its organization, and leaves no plan but to look up what the batch asks for, whatever size the tables once had.
create or replace function wake_subscriptions(before event_batches) returns void language plpgsql as $$
begin
  if not exists (select from subscriptions) then
    return;
  end if;
  perform pg_advisory_xact_lock(7710653299);
  with fresh as materialized (
    select e.owner, array_agg(distinct e.type) as types
    from (select epoch, xid, position from event_numbers where number > before.last order by number) n
    cross join lateral (
      select owner, type from events where epoch = n.epoch and xid = n.xid and events.position = n.position offset 0) e
    group by e.owner
  ),
  woken as materialized (
    select s.subscription_id from fresh f cross join lateral (
      select subscription_id from subscriptions
      where owner = f.owner and not instance and not paused and (types = '{}' or types && f.types) offset 0) s
    union all
    select s.subscription_id from subscriptions s
    where s.instance and not s.paused
      and (s.types = '{}' or s.types && array(select distinct unnest(f.types) from fresh f))
  )
  update subscription_deliveries d set due = now(), number = before.last, batch = before.id
  where d.subscription_id = any(array(select w.subscription_id from woken w)) and d.due = 'infinity' and d.dead is null;
end $$;

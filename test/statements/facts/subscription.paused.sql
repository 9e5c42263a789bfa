with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"subscription.paused/0" as (update subscriptions t set paused = true, version = f.version, changed = f.time
   from (select * from facts where type = 'subscription.paused') f where t.owner = f.owner and t.subscription_id = f.stream),
"subscription.paused/1" as (update subscription_deliveries d set due = 'infinity',
  number = case when d.due = 'infinity' and d.dead is null then e.last else d.number end,
  batch = case when d.due = 'infinity' and d.dead is null then e.id else d.batch end from (select * from input where type = 'subscription.paused') i, (select last, id from event_batches order by first desc limit 1) e
       where d.subscription_id = i.stream)
select 1;

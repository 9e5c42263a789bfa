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
"subscription.resumed/0" as (update subscriptions t set paused = false, version = f.version, changed = f.time
   from (select * from facts where type = 'subscription.resumed') f where t.owner = f.owner and t.subscription_id = f.stream),
"subscription.resumed/1" as (update subscription_deliveries d set due = now(), attempts = 0, failure = null, failing_since = null, dead = null from (select * from input where type = 'subscription.resumed') i where d.subscription_id = i.stream)
select 1;

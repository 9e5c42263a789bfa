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
"subscription.deleted/0" as (delete from subscriptions t using (select * from facts where type = 'subscription.deleted') f where t.owner = f.owner and t.subscription_id = f.stream),
"subscription.deleted/1" as (delete from subscription_secrets t using (select * from facts where type = 'subscription.deleted') f where t.subscription_id = f.stream),
"subscription.deleted/2" as (delete from subscription_deliveries t using (select * from facts where type = 'subscription.deleted') f where t.subscription_id = f.stream)
select 1;

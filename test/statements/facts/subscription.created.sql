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
"subscription.created/0" as (insert into subscriptions (owner, subscription_id, url, types, instance, version, created, changed)
       select f.owner, f.stream, f.payload->>'url', array(select jsonb_array_elements_text(f.payload->'types')), (f.payload->>'instance')::boolean, f.version, f.time, f.time
       from (select * from facts where type = 'subscription.created') f),
"subscription.created/1" as (insert into subscription_secrets (subscription_id, sealed)
       select i.stream, decode(i.secret->>'sealed', 'hex') from (select * from input where type = 'subscription.created') i),
"subscription.created/2" as (insert into subscription_deliveries (subscription_id, owner, number, batch, due)
       select i.stream, i.owner, (i.secret->>'number')::bigint, i.secret->>'batch', now() from (select * from input where type = 'subscription.created') i)
select 1;

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
"subscription.secret_rotated/0" as (update subscriptions t set version = f.version, changed = f.time
   from (select * from facts where type = 'subscription.secret_rotated') f where t.owner = f.owner and t.subscription_id = f.stream),
"subscription.secret_rotated/1" as (update subscription_secrets s set sealed = decode(i.secret->>'sealed', 'hex'),
         previous = case when end_of.time > now() then s.sealed end, previous_end = case when end_of.time > now() then end_of.time end
       from (select * from input where type = 'subscription.secret_rotated') i cross join lateral (select (i.payload->>'previousSecretExpirationDate')::timestamptz as time) end_of
       where s.subscription_id = i.stream)
select 1;

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
"user.username_changed/0" as (update users t set username = f.payload->>'username', version = f.version, changed = f.time
   from (select * from facts where type = 'user.username_changed') f where t.owner = f.owner and t.user_id = f.stream),
"user.username_changed/1" as (update login_names l set login_name = f.payload->>'loginName' from (select * from facts where type = 'user.username_changed') f
       where l.user_id = f.stream and f.payload->>'loginName' <> '')
select 1;

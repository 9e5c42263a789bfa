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
"user.username_changed/0" as (update users t set username = f.payload->>'username', own_login_name = coalesce((f.payload->>'ownLoginName')::boolean, false), version = f.version, changed = f.time
   from (select * from facts where type = 'user.username_changed') f where t.owner = f.owner and t.user_id = f.stream),
"user.username_changed/1" as (update login_names l set login_name = f.payload->>'loginName' from (select * from facts where type = 'user.username_changed') f
       where l.user_id = f.stream and f.payload->>'loginName' <> '' and not coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.username_changed/2" as (delete from login_names l using (select * from facts where type = 'user.username_changed') f where l.user_id = f.stream and coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.username_changed/3" as (insert into organization_login_names (owner, login_name, user_id, own)
       select f.owner, f.payload->>'loginName', f.stream, true from (select * from facts where type = 'user.username_changed') f join login_names l on l.user_id = f.stream
       where f.payload->>'loginName' <> '' and coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.username_changed/4" as (update organization_login_names o set login_name = f.payload->>'loginName' from (select * from facts where type = 'user.username_changed') f
       where o.owner = f.owner and o.user_id = f.stream and o.own and f.payload->>'loginName' <> '' and coalesce((f.payload->>'ownLoginName')::boolean, false))
select 1;

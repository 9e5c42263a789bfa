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
"user.machine_created/0" as (insert into users (owner, user_id, kind, username, name, active, own_login_name, version, created, changed)
       select f.owner, f.stream, 'machine', f.payload->>'username', f.payload->>'name', not coalesce((f.payload->>'inactive')::boolean, false),
         coalesce((f.payload->>'ownLoginName')::boolean, false), f.version, f.time, f.time
       from (select * from facts where type = 'user.machine_created') f),
"user.machine_created/1" as (insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from (select * from facts where type = 'user.machine_created') f where f.payload->>'loginName' <> '' and not coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.machine_created/2" as (insert into organization_login_names (owner, login_name, user_id, own)
  select f.owner, f.payload->>'loginName', f.stream, true from (select * from facts where type = 'user.machine_created') f where f.payload->>'loginName' <> '' and coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.machine_created/3" as (insert into chosen_ids (id) select f.stream from (select * from facts where type = 'user.machine_created') f where (f.payload->>'idChosen')::boolean)
select 1;

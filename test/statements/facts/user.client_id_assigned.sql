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
"user.client_id_assigned/0" as (update users t set version = f.version, changed = f.time
   from (select * from facts where type = 'user.client_id_assigned') f where t.owner = f.owner and t.user_id = f.stream),
"user.client_id_assigned/1" as (insert into machine_client_ids (client_id, owner, user_id) select f.payload->>'clientId', f.owner, f.stream from (select * from facts where type = 'user.client_id_assigned') f)
select 1;

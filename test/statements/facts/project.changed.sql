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
"project.changed/0" as (update projects t set name = f.payload->>'name', grant_required = coalesce((f.payload->>'grantRequired')::boolean, t.grant_required), version = f.version, changed = f.time
   from (select * from facts where type = 'project.changed') f where t.owner = f.owner and t.project_id = f.stream)
select 1;

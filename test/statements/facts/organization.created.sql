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
"organization.created/0" as (insert into organizations (organization_id, name, own_login_names, version, created, changed)
       select f.stream, f.payload->>'name', coalesce((f.payload->>'ownLoginNames')::boolean, false), f.version, f.time, f.time
       from (select * from facts where type = 'organization.created') f)
select 1;

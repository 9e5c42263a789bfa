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
"application.deactivated/0" as (update applications t set active = false, compliance_version = case when t.compliance_version = t.version then f.version else t.compliance_version end, version = f.version, changed = f.time
   from (select * from facts where type = 'application.deactivated') f where t.owner = f.owner and t.app_id = f.stream)
select 1;

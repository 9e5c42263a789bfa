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
"project_grant.role_removed/0" as (delete from project_grant_roles r using (select * from facts where type = 'project_grant.role_removed') f
       where r.project_grant_id = f.stream and r.role_key = f.payload->>'key'),
"project_grant.role_removed/1" as (update project_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'project_grant.role_removed') f where t.owner = f.owner and t.project_grant_id = f.stream)
select 1;

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
"project_grant.created/0" as (insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'grantedOrganizationId', f.version, f.time, f.time
       from (select * from facts where type = 'project_grant.created') f),
"project_grant.created/1" as (insert into project_grant_roles (owner, project_grant_id, project_id, role_key)
       select f.owner, f.stream, f.payload->>'projectId', role_key
       from (select * from facts where type = 'project_grant.created') f, jsonb_array_elements_text(f.payload->'roleKeys') role_key)
select 1;

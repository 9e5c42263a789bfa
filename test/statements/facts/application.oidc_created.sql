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
"application.oidc_created/0" as (insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed, compliance_problems, compliance_version)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'name', f.payload->>'clientId', f.payload->'oidc',
         f.version, f.time, f.time, case when f.payload->'compliance' is not null
    then array(select jsonb_array_elements_text(f.payload->'compliance'->'problems')) end, case when f.payload->'compliance' is not null then f.version end from (select * from facts where type = 'application.oidc_created') f),
"application.oidc_created/1" as (insert into client_ids (client_id, owner, app_id) select f.payload->>'clientId', f.owner, f.stream from (select * from facts where type = 'application.oidc_created') f),
"application.oidc_created/2" as (insert into client_secrets (app_id, hash)
       select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'application.oidc_created') i where i.secret->>'hash' is not null)
select 1;

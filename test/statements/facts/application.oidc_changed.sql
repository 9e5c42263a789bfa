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
"application.oidc_changed/0" as (update applications t set name = f.payload->>'name', oidc = f.payload->'oidc', compliance_problems = case when f.payload->'compliance' is not null
    then array(select jsonb_array_elements_text(f.payload->'compliance'->'problems')) end, compliance_version = case when f.payload->'compliance' is not null then f.version end, version = f.version, changed = f.time
   from (select * from facts where type = 'application.oidc_changed') f where t.owner = f.owner and t.app_id = f.stream),
"application.oidc_changed/1" as (insert into client_secrets (app_id, hash)
       select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'application.oidc_changed') i where i.secret->>'hash' is not null),
"application.oidc_changed/2" as (delete from client_secrets s using (select * from facts where type = 'application.oidc_changed') f
       where s.app_id = f.stream and f.payload->'oidc'->>'authMethodType' not in ('OIDC_AUTH_METHOD_TYPE_BASIC', 'OIDC_AUTH_METHOD_TYPE_POST'))
select 1;

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
"application.api_created/0" as (insert into applications (owner, app_id, project_id, name, client_id, oidc, api, is_api, version, created, changed,
         compliance_problems, compliance_version)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'name', f.payload->>'clientId', jsonb_strip_nulls(jsonb_build_object(
  'authMethodType', replace(f.payload->'api'->>'authMethodType', 'API_AUTH_', 'OIDC_AUTH_'))), nullif((f.payload->'api') - 'authMethodType', '{}'), true,
         f.version, f.time, f.time, case when f.payload->'compliance' is not null
    then array(select jsonb_array_elements_text(f.payload->'compliance'->'problems')) end, case when f.payload->'compliance' is not null then f.version end from (select * from facts where type = 'application.api_created') f),
"application.api_created/1" as (insert into client_ids (client_id, owner, app_id) select f.payload->>'clientId', f.owner, f.stream from (select * from facts where type = 'application.api_created') f),
"application.api_created/2" as (insert into resource_uris (href, owner, app_id, uri, given, names) select h.href, f.owner, f.stream as app_id, u.uri,
          coalesce(f.payload->'api'->'givenResourceUris' ? u.uri, false) as given,
          array(select array_to_string(h.labels[l:], '.') from generate_subscripts(h.labels, 1) l) as names
        from (select * from facts where type = 'application.api_created') f cross join lateral jsonb_array_elements_text(coalesce(f.payload->'api'->'resourceUris', '[]')) u (uri)
        cross join lateral (select u.uri || case when u.uri ~ '^https?://[^/?#]+$' then '/' else '' end as href,
          string_to_array(substring(u.uri from '^https?://([^/:?#]+)'), '.') as labels) h),
"application.api_created/3" as (insert into client_secrets (app_id, hash)
  select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'application.api_created') i where i.secret->>'hash' is not null)
select 1;

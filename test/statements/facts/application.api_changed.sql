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
"application.api_changed/0" as (update applications t set name = f.payload->>'name', oidc = jsonb_strip_nulls(jsonb_build_object(
  'authMethodType', replace(f.payload->'api'->>'authMethodType', 'API_AUTH_', 'OIDC_AUTH_'))), api = nullif((f.payload->'api') - 'authMethodType', '{}'), compliance_problems = case when f.payload->'compliance' is not null
    then array(select jsonb_array_elements_text(f.payload->'compliance'->'problems')) end, compliance_version = case when f.payload->'compliance' is not null then f.version end, version = f.version, changed = f.time
   from (select * from facts where type = 'application.api_changed') f where t.owner = f.owner and t.app_id = f.stream),
"application.api_changed/1" as (delete from resource_uris r using (select * from facts where type = 'application.api_changed') f
       where r.app_id = f.stream and not exists (select from (select h.href, f.owner, f.stream as app_id, u.uri,
          coalesce(f.payload->'api'->'givenResourceUris' ? u.uri, false) as given,
          array(select array_to_string(h.labels[l:], '.') from generate_subscripts(h.labels, 1) l) as names
        from (select * from facts where type = 'application.api_changed') f cross join lateral jsonb_array_elements_text(coalesce(f.payload->'api'->'resourceUris', '[]')) u (uri)
        cross join lateral (select u.uri || case when u.uri ~ '^https?://[^/?#]+$' then '/' else '' end as href,
          string_to_array(substring(u.uri from '^https?://([^/:?#]+)'), '.') as labels) h) x where x.app_id = r.app_id and x.href = r.href)),
"application.api_changed/2" as (update resource_uris r set uri = x.uri, given = x.given from (select h.href, f.owner, f.stream as app_id, u.uri,
          coalesce(f.payload->'api'->'givenResourceUris' ? u.uri, false) as given,
          array(select array_to_string(h.labels[l:], '.') from generate_subscripts(h.labels, 1) l) as names
        from (select * from facts where type = 'application.api_changed') f cross join lateral jsonb_array_elements_text(coalesce(f.payload->'api'->'resourceUris', '[]')) u (uri)
        cross join lateral (select u.uri || case when u.uri ~ '^https?://[^/?#]+$' then '/' else '' end as href,
          string_to_array(substring(u.uri from '^https?://([^/:?#]+)'), '.') as labels) h) x where r.app_id = x.app_id and r.href = x.href),
"application.api_changed/3" as (insert into resource_uris (href, owner, app_id, uri, given, names)
       select x.* from (select h.href, f.owner, f.stream as app_id, u.uri,
          coalesce(f.payload->'api'->'givenResourceUris' ? u.uri, false) as given,
          array(select array_to_string(h.labels[l:], '.') from generate_subscripts(h.labels, 1) l) as names
        from (select * from facts where type = 'application.api_changed') f cross join lateral jsonb_array_elements_text(coalesce(f.payload->'api'->'resourceUris', '[]')) u (uri)
        cross join lateral (select u.uri || case when u.uri ~ '^https?://[^/?#]+$' then '/' else '' end as href,
          string_to_array(substring(u.uri from '^https?://([^/:?#]+)'), '.') as labels) h) x
       where not exists (select from resource_uris r where r.app_id = x.app_id and r.href = x.href)),
"application.api_changed/4" as (insert into client_secrets (app_id, hash)
  select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'application.api_changed') i where i.secret->>'hash' is not null),
"application.api_changed/5" as (delete from client_secrets s using (select * from facts where type = 'application.api_changed') f
       where s.app_id = f.stream and f.payload->'api'->>'authMethodType' = 'API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT')
select 1;

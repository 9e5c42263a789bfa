with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'application.deleted' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, a.owner, a.app_id, a.version + 1, '{}'::jsonb
    from (select * from input where type = 'application.document_created') i cross join lateral (
      select a.owner, a.app_id, a.version from applications a
      where a.project_id = i.payload->>'projectId' and a.is_document and a.active
        and a.created < i.time - interval '1 minute' and not exists (select from consents c where c.app_id = a.app_id offset 0)
      order by a.created, a.app_id
      limit (select greatest(0, count(*) - 999) from (select a.app_id, a.client_id, a.active
          from applications a where a.project_id = i.payload->>'projectId' and a.is_document offset 0) a)
      for update skip locked) a) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"application.deleted/0" as (delete from resource_uris r using (select * from facts where type = 'application.deleted') f where r.app_id = f.stream),
"application.deleted/1" as (delete from application_keys k using (select * from facts where type = 'application.deleted') f where k.app_id = f.stream),
"application.deleted/2" as (delete from applications a using (select * from facts where type = 'application.deleted') f where a.owner = f.owner and a.app_id = f.stream),
"application.deleted/3" as (delete from client_ids c using (select * from facts where type = 'application.deleted') f where c.owner = f.owner and c.app_id = f.stream),
"application.deleted/4" as (delete from consents c using (select * from facts where type = 'application.deleted') f
       where c.app_id = f.stream and not coalesce((f.payload->>'consentsFollow')::boolean, false)),
"application.deleted/5" as (delete from client_secrets s using (select * from facts where type = 'application.deleted') f where s.app_id = f.stream),
"application.document_created/0" as (insert into applications (owner, app_id, project_id, name, client_id, oidc, is_document, version, created, changed,
         compliance_problems, compliance_version)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'name', f.payload->>'clientId', f.payload->'oidc', true,
         f.version, f.time, f.time, '{}', f.version from (select * from facts where type = 'application.document_created') f)
select 1;

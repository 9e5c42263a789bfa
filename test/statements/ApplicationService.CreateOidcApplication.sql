with given as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
asked as materialized (
  select n, owner, payload->>'projectId' as project, payload->>'name' as name, payload->>'clientId' as client_id from given
),
found as materialized (
  select found.*, "isThere" and "takenBy" is null and not "clientIdUsed" as holds
    from (select n, p.project_id is not null as "isThere", (
               select a.app_id from applications a
               where a.project_id = asked.project and as_read(folded(a.name)) = as_read(folded(asked.name)) limit 1) as "takenBy",
               (exists (select from used_client_ids u where u.client_id = asked.client_id offset 0)
                 or exists (select from burned_ids b where b.id = asked.client_id offset 0)) as "clientIdUsed"
      from asked left join projects p on p.owner = asked.owner and p.project_id = asked.project offset 0) found
),
input as materialized (
  select * from given where n = any(array(select n from found where holds))
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
select * from found;

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, time
),
"member.added/0" as (insert into members (owner, member_id, user_id, scope, scope_id, project_id, project_grant_id, roles,
         version, created, changed)
       select f.owner, f.stream, f.payload->>'userId',
         case when f.payload ? 'projectGrantId' then 'project_grant' when f.payload ? 'projectId' then 'project'
              when f.payload ? 'organizationId' then 'organization' else 'instance' end,
         coalesce(f.payload->>'projectGrantId', f.payload->>'projectId', f.payload->>'organizationId', f.owner),
         f.payload->>'projectId', f.payload->>'projectGrantId',
         array(select jsonb_array_elements_text(f.payload->'roles')), f.version, f.time, f.time
       from (select * from facts where type = 'member.added') f)
select 1;

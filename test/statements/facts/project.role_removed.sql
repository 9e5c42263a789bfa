with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'user_grant.role_removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
                 from (select * from input where type = 'project.role_removed') i join user_grant_roles r on (r.project_id collate "C") = i.stream and (r.role_key collate "C") = i.payload->>'key'
                 cross join lateral (select * from user_grants where user_grant_id = r.user_grant_id offset 0) g) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'project_grant.role_removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
                 from (select * from input where type = 'project.role_removed') i
                 join project_grant_roles r on r.project_id = i.stream and r.role_key = i.payload->>'key'
                 join project_grants g on g.project_grant_id = r.project_grant_id) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project.role_removed') i join invitations v on v.project_id = i.stream
                   and coalesce(v.project_grant, v.grants->0)->'roleKeys' ? (i.payload->>'key')) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"project.role_removed/0" as (delete from all_project_roles r using (select * from facts where type = 'project.role_removed') f
       where r.project_id = f.stream and r.role_key = f.payload->>'key'),
"project.role_removed/1" as (update projects t set version = f.version, changed = f.time
   from (select * from facts where type = 'project.role_removed') f where t.owner = f.owner and t.project_id = f.stream),
"project_grant.role_removed/0" as (delete from project_grant_roles r using (select * from facts where type = 'project_grant.role_removed') f
       where r.project_grant_id = f.stream and r.role_key = f.payload->>'key'),
"project_grant.role_removed/1" as (update project_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'project_grant.role_removed') f where t.owner = f.owner and t.project_grant_id = f.stream),
"user_grant.role_removed/0" as (update user_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'user_grant.role_removed') f where t.owner = f.owner and t.user_grant_id = f.stream),
"user_grant.role_removed/1" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.role_removed') f
       where r.user_grant_id = f.stream and r.role_key = f.payload->>'key')
select 1;

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'user_grant.changed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('roleKeys', array(
                   select k.role_key from user_grant_roles k
                   where k.user_grant_id = g.user_grant_id and not i.payload->'removedRoleKeys' ? k.role_key
                   order by k.role_key))
                 from (select * from input where type = 'project_grant.changed') i
                 cross join jsonb_array_elements_text(i.payload->'removedRoleKeys') lost (role_key)
                 join user_grant_roles r on r.project_grant_id = i.stream and r.role_key = lost.role_key
                 join user_grants g on g.user_grant_id = r.user_grant_id
                 where not exists (
                   select from user_grant_roles s
                   where s.user_grant_id = r.user_grant_id and s.role_key < r.role_key
                     and i.payload->'removedRoleKeys' ? s.role_key offset 0)) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project_grant.changed') i join invitations v on v.project_grant_id = i.stream and v.grants->0->'roleKeys' ?| array(
                   select jsonb_array_elements_text(i.payload->'removedRoleKeys'))) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"project_grant.changed/0" as (update project_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'project_grant.changed') f where t.owner = f.owner and t.project_grant_id = f.stream),
"project_grant.changed/1" as (insert into project_grant_roles (owner, project_grant_id, project_id, role_key)
       select g.owner, g.project_grant_id, g.project_id, k.role_key
       from (select * from facts where type = 'project_grant.changed') f join project_grants g on g.owner = f.owner and g.project_grant_id = f.stream
       cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key)
       on conflict (project_grant_id, role_key) do nothing),
"project_grant.changed/2" as (delete from project_grant_roles r using (select * from facts where type = 'project_grant.changed') f
       where r.project_grant_id = f.stream and not f.payload->'roleKeys' ? r.role_key),
"user_grant.changed/0" as (update user_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'user_grant.changed') f where t.owner = f.owner and t.user_grant_id = f.stream),
"user_grant.changed/1" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.changed') f
       where r.user_grant_id = f.stream and not f.payload->'roleKeys' ? r.role_key),
"user_grant.changed/2" as (insert into user_grant_roles (owner, user_grant_id, project_id, project_grant_id, role_key)
       select g.owner, g.user_grant_id, g.project_id, g.project_grant_id, k.role_key
       from (select * from facts where type = 'user_grant.changed') f join user_grants g on g.owner = f.owner and g.user_grant_id = f.stream
       cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key)
       on conflict (user_grant_id, role_key) do nothing)
select 1;

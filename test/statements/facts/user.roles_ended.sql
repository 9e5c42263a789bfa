with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'user.roles_ended') i join members m on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' and (m.user_id collate "C") = i.stream and (m.owner collate "C") = i.payload->>'organizationId' and m.scope <> 'instance' and m.scope = 'organization') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'user.roles_ended') i join members m on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' and (m.user_id collate "C") = i.stream and (m.owner collate "C") = i.payload->>'organizationId' and m.scope <> 'instance' and m.scope <> 'organization') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from (select * from input where type = 'user.roles_ended') i join user_grants g on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_USER_GRANT' and (g.user_id collate "C") = i.stream and (g.owner collate "C") = i.payload->>'organizationId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_3 as (
  select c.owner, c.stream, c.version, 'user.roles_ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (
    select i.n, i.owner, i.stream, i.version, i.payload
    from (select * from input where type = 'user.roles_ended') i join members m on not (i.payload->>'byAdministrator')::boolean and not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' and (m.user_id collate "C") = i.stream and (m.owner collate "C") = i.payload->>'organizationId' and m.scope <> 'instance'
    where case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
      and not exists (
        select from organizations d join all_users x on x.user_id = m.user_id
        where d.deleted and d.organization_id in (m.owner, x.owner))
      and not exists (
      select from (
        select o.user_id from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) order by o.member_id for no key update
      ) owners where owners.user_id <> m.user_id)) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_3
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"user.roles_ended/0" as (update users t set version = f.version, changed = f.time
   from (select * from facts where type = 'user.roles_ended') f where t.owner = f.owner and t.user_id = f.stream),
"user.roles_ended/1" as (insert into ended_roles as e (user_id, organization_id, kind, by_administrator, ended, kept)
   select f.stream, f.payload->>'organizationId', k.kind, (f.payload->>'byAdministrator')::boolean, f.time, coalesce((f.payload->>'kept')::boolean, false)
   from (select * from facts where type = 'user.roles_ended') f cross join jsonb_array_elements_text(f.payload->'kinds') k (kind)
   on conflict (user_id, organization_id, kind) do update
     set by_administrator = e.by_administrator or excluded.by_administrator, kept = e.kept and excluded.kept),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream)
select 1;

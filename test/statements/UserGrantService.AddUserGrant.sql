with given as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
asked as materialized (
  select n, owner, payload->>'userId' as user_id, payload->>'projectId' as project_id,
    coalesce(payload->>'projectGrantId', '') as project_grant_id,
    array(select jsonb_array_elements_text(payload->'roleKeys')) as role_keys from given
),
found as materialized (
  select found.*, coalesce(
      coalesce("projectGrantId", '') = "askedGrantId" and (owned or "projectGrantId" is not null)
      and "projectActive" and "inactiveOrganization" is null and "userId" is not null and existing is null
      and not "isEnded" and "decidedBy" is null and cardinality("roleKeys") = "askedRoles", false) as holds
    from (select n, asked.project_grant_id as "askedGrantId", cardinality(asked.role_keys) as "askedRoles",
    p.owner = asked.owner as owned, p.active as "projectActive",
    (select o.organization_id from organizations o
     where not o.active and o.organization_id = any(array[asked.owner, p.owner]) limit 1) as "inactiveOrganization",
    (select g.project_grant_id from project_grants g
     where g.project_id = asked.project_id and g.granted_organization_id = asked.owner
       and (select not d.deleted from organizations d where d.organization_id = g.owner)) as "projectGrantId",
    (select u.user_id from users u
     where u.user_id = asked.user_id and (select not d.deleted from organizations d where d.organization_id = u.owner)) as "userId",
    case when asked.project_grant_id = '' then (
      select g.user_grant_id from (
        select * from user_grants g where (g.user_id, g.project_id) <= (asked.user_id, asked.project_id)
        order by g.user_id desc, g.project_id desc, g.project_grant_id desc, g.owner desc limit 1) g
      where g.user_id = asked.user_id and g.project_id = asked.project_id and g.project_grant_id is null and g.owner = asked.owner)
    else (
      select g.user_grant_id from (
        select * from user_grants g
        where (g.user_id, g.project_id, g.project_grant_id, g.owner)
          >= (asked.user_id, asked.project_id, asked.project_grant_id, asked.owner)
        order by g.user_id, g.project_id, g.project_grant_id, g.owner limit 1) g
      where (g.user_id, g.project_id, g.project_grant_id, g.owner)
        = (asked.user_id, asked.project_id, asked.project_grant_id, asked.owner))
    end as existing,
    exists (select from ended_roles e
      where e.user_id = asked.user_id and e.organization_id = asked.owner and e.kind = 'ROLE_KIND_USER_GRANT' offset 0) as "isEnded",
    (select (
      select h.organization_id from organizations h where h.organization_id = u.owner and h.requires_acceptance)
    from all_users u where u.user_id = asked.user_id and u.owner <> asked.owner) as "decidedBy",
    (
    select v.invitation_id from invitations v
    where (v.recipient_id, v.kind, v.object_id, v.owner) = (asked.user_id, 'user_grant', coalesce(nullif(asked.project_grant_id, ''), asked.project_id), asked.owner)) as "offeredAs",
    case when asked.project_grant_id = '' then array(
      select r.role_key from project_roles r
      where r.project_id = asked.project_id and r.role_key = any(asked.role_keys))
    else array(
      select r.role_key from project_grant_roles r
      where r.project_grant_id = asked.project_grant_id and r.role_key = any(asked.role_keys))
    end as "roleKeys"
    from asked left join lateral (
      select owner, active from projects where project_id = asked.project_id offset 0) p on true offset 0) found
),
input as materialized (
  select * from given where n = any(array(select n from found where holds))
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"user_grant.added/0" as (insert into user_grants (owner, user_grant_id, user_id, project_id, project_grant_id, expiration_date, version, created,
         changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->>'projectId', f.payload->>'projectGrantId',
         (f.payload->>'expirationDate')::timestamptz, f.version, f.time, f.time
       from (select * from facts where type = 'user_grant.added') f),
"user_grant.added/1" as (insert into user_grant_roles (owner, user_grant_id, project_id, project_grant_id, role_key)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'projectGrantId', k.role_key
       from (select * from facts where type = 'user_grant.added') f cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key))
select * from found;

select count(*)::integer as count from (select from invitations v where v.owner = $1 limit $2) v;

-- appends: facts/invitation.created.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text, now timestamptz)
)
select n, v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email, h.name as "organizationName", h.active as "organizationActive",
        coalesce(concat_ws(' ', u.given_name, u.family_name), '') as "inviterName",
        coalesce((u.active and (select h.active from organizations h where h.organization_id = u.owner)), false) as "inviterActive",
        coalesce((select jsonb_object_agg(j.id, p.name)
          from (select j->>'projectId' from jsonb_array_elements(v.memberships) j union select j->>'projectId' from jsonb_array_elements(v.grants) j) j (id)
          cross join lateral (select p.name from projects p where p.project_id = j.id limit 1) p), '{}') as "projectNames"
      from asked
      join mail_codes c on c.mac = decode(asked.hash, 'hex') and c.purpose = 'invitation' and c.expiration_date > asked.now
      join invitations v on v.invitation_id = c.user_id left join invitation_addresses a on a.invitation_id = v.invitation_id
      join organizations h on h.organization_id = v.owner and not h.deleted
      left join users u on u.user_id = v.inviter_id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, u.email, coalesce((u.email_verified or u.email_setter <> u.user_id), false) as "isVouchedFor", h.name as "organizationName"
             from asked join users u on u.user_id = asked.id join organizations h on h.organization_id = u.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n,
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and not exists (select from ended_roles e
      where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0)
  ), '[]'::jsonb) as memberships from asked join all_users u on u.user_id = asked.id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, scope text, id text, project text, "user" text)
)
select n, asked.scope = 'organization' or coalesce(p.project_id, g.project_id) is not null as "objectExists",
         coalesce(p.project_id, g.project_id) as "projectId",
         exists (select from ended_roles e
  where e.user_id = asked."user" and e.organization_id = asked.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' offset 0) as "isEnded",
         (select m.member_id from members m
          where m.user_id = asked."user" and m.scope = asked.scope and m.scope_id = asked.id
            and not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0)) as "memberId",
         case when asked.scope <> 'instance' then (select (
  select h.organization_id from organizations h where h.organization_id = u.owner and h.requires_acceptance)
from all_users u where u.user_id = asked."user" and u.owner <> asked.owner) end as "decidedBy",
           (
select v.invitation_id from invitations v
where (v.recipient_id, v.kind, v.object_id, v.owner) = (asked."user", 'member', asked.id, asked.owner)) as "offeredAs"
       from asked
         left join projects p on asked.scope = 'project' and p.owner = asked.owner and p.project_id = asked.id
         left join project_grants g on asked.scope = 'project_grant' and g.project_grant_id = asked.id
           and g.granted_organization_id = asked.owner and asked.project in ('', g.project_id)
           and (select not d.deleted from organizations d where d.organization_id = g.owner);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, user_id text, project_id text, project_grant_id text, role_keys text[])
)
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
  select owner, active from projects where project_id = asked.project_id offset 0) p on true offset 0) found;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, "user" text, now timestamptz)
)
select g.n, g.creator as "creatorId", g.count, exists (
        select from members m join users u on u.user_id = m.user_id and u.kind = 'machine'
        where m.user_id = g.creator and m.changed > g.first) as "isHeldByOthers"
      from (select n, c.creator, count(*)::integer as count, min(c.created) as first from asked cross join lateral (
        with recursive made as (
          select t.token_id, coalesce(t.creator_id, (
    select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1)) as creator, t.expiration_date, t.created from access_tokens t where t.user_id = asked."user"
          union
          select t.token_id, made.creator, t.expiration_date, t.created from made join access_tokens t on t.maker_id = made.token_id
        )
        select creator, expiration_date, created from made
        union all select coalesce(creator_id, ''), expiration_date, created from machine_credentials where user_id = asked."user"
        union all select creator_id, expiration_date, null from mail_codes where user_id = asked."user"
        union all select creator_id, expiration_date, null from phone_codes where user_id = asked."user") c
      where c.creator <> asked."user" and coalesce(c.expiration_date, 'infinity') > asked.now
      group by n, c.creator) g;

-- appends: facts/invitation.accepted_and_member.added_and_user_grant.added.sql

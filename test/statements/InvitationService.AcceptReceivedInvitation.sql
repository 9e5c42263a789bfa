with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, receiver text, id text, now timestamptz)
)
select n, v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName", h.active as "organizationActive",
               coalesce((select (u.active and (select h.active from organizations h where h.organization_id = u.owner)) from users u where u.user_id = v.inviter_id), false) as "inviterActive"
             from asked
             join invitation_receivers r on r.invitation_id = asked.id and r.receiver_id = asked.receiver
             join invitations v on v.invitation_id = r.invitation_id and v.expiration_date > asked.now
             join organizations h on h.organization_id = v.owner and not h.deleted and not exists (select from all_users x where x.deleted and x.user_id = v.recipient_id offset 0);

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

-- appends: facts/invitation.accepted_and_member.added.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, scope text, id text, project text, "user" text)
)
select n, coalesce(p.project_id, g.project_id) as "projectId",
               asked.scope in ('instance', 'organization') or coalesce(p.project_id, g.project_id) is not null as "objectExists",
               exists (select from users u where u.user_id = asked."user" and (select not d.deleted from organizations d where d.organization_id = u.owner)) as "userExists",
               exists (select from ended_roles e
      where e.user_id = asked."user" and e.organization_id = asked.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' offset 0) as "isEnded",
               exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = asked.scope and o.scope_id = asked.id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and o.user_id <> asked."user") as "othersOwn",
               case when asked.scope <> 'instance' then (select (
      select h.organization_id from organizations h where h.organization_id = u.owner and h.requires_acceptance)
    from all_users u where u.user_id = asked."user" and u.owner <> asked.owner) end as "decidedBy",
               (
    select v.invitation_id from invitations v
    where (v.recipient_id, v.kind, v.object_id, v.owner) = (asked."user", 'member', asked.id, asked.owner)) as "offeredAs",
               m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed
             from asked
             left join projects p on asked.scope = 'project' and p.owner = asked.owner and p.project_id = asked.id
             left join project_grants g on asked.scope = 'project_grant' and g.project_grant_id = asked.id
               and g.granted_organization_id = asked.owner and asked.project in ('', g.project_id)
               and (select not d.deleted from organizations d where d.organization_id = g.owner)
             left join members m on m.user_id = asked."user" and m.scope = asked.scope and m.scope_id = asked.id
               and not exists (select from ended_roles e
      where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, user_id text, role_key text, project_id text, organization_id text)
)
select n, case when not h.deleted then p.owner end as "projectOwner",
      case when asked.organization_id <> '' then (
        select d.project_grant_id from project_grants d
        where d.project_id = asked.project_id and d.granted_organization_id = asked.organization_id
      ) end as "projectGrantId",
      g.user_grant_id as "userGrantId", g.owner as "giver",
      p.active as "isProjectActive", h.active as "isOwnerActive", g.active as "isGrantActive", g."isGrantOver", g."isGranteeActive",
      case when not o.deleted then u.active and o.active end as "isUserActive"
    from asked
    left join projects p on p.project_id = asked.project_id
    left join organizations h on h.organization_id = p.owner
    left join lateral (
      select g.user_id, g.active, g.expiration_date <= now() as "isGrantOver", (g.project_grant_id is null or ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0))) as "isGranteeActive", g.user_grant_id, g.owner
      from user_grants g cross join lateral (
        select from user_grant_roles r where r.user_grant_id = g.user_grant_id and r.role_key = asked.role_key
          and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0) limit 1
      ) r
      where g.user_id = asked.user_id and g.project_id = asked.project_id and not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)
        and (asked.organization_id = '' or g.owner = asked.organization_id)
    ) g on true
    left join users u on u.user_id = g.user_id
    left join organizations o on o.organization_id = u.owner;

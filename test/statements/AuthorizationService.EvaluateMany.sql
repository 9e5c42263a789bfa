with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, user_id text, role_key text, project_id text, organization_id text)
)
select n, p.owner as "projectOwner",
      case when asked.organization_id <> '' then (
        select d.project_grant_id from project_grants d
        where d.project_id = asked.project_id and d.granted_organization_id = asked.organization_id
      ) end as "projectGrantId",
      held."shutBy"
    from asked
    left join lateral (
      select p.* from projects p where p.project_id = asked.project_id limit 1
    ) p on (select not d.deleted from organizations d where d.organization_id = p.owner)
    left join lateral (
      select min(coalesce(nullif(case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end, ''),
        case when not g.active then 'grant' when not (u.active and (select h.active from organizations h where h.organization_id = u.owner)) then 'user' else '' end)) as "shutBy"
      from user_grants g
      join user_grant_roles r on r.user_grant_id = g.user_grant_id and r.role_key = asked.role_key
      join users u on u.user_id = g.user_id
      join organizations h on h.organization_id = p.owner
      where g.user_id = asked.user_id and g.project_id = p.project_id
        and (asked.organization_id = '' or g.owner = asked.organization_id) and (select not d.deleted from organizations d where d.organization_id = u.owner)
    ) held on true;

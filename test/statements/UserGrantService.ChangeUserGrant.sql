with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, role_keys text[])
)
select n, g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
  g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
  (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
  array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys",
      case when g.project_grant_id is null then array(
        select r.role_key from project_roles r
        where r.project_id = g.project_id and r.role_key = any(asked.role_keys))
      else array(
        select r.role_key from project_grant_roles r
        where r.project_grant_id = g.project_grant_id and r.role_key = any(asked.role_keys))
      end as known,
      (select (
      select h.organization_id from organizations h where h.organization_id = u.owner and h.requires_acceptance)
    from all_users u where u.user_id = g.user_id and u.owner <> g.owner) as "decidedBy"
      from asked join user_grants g on g.owner = asked.owner and g.user_grant_id = asked.id;

-- appends: facts/user_grant.changed.sql

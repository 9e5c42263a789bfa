select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.version, g.created, g.changed,
(select case when not p.active then 'project'
    when not h.active then 'organization'
    when g.project_grant_id is not null and not (
      select o.active from organizations o where o.organization_id = g.owner) then 'organization'
    else '' end
  from projects p join organizations h on h.organization_id = p.owner
  where p.project_id = g.project_id) as "shutBy",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g
where g.owner = $1
  and true
  and true
  and true
  and true
order by g.user_grant_id desc limit $2;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.version, g.created, g.changed,
(select case when not p.active then 'project'
    when not h.active then 'organization'
    when g.project_grant_id is not null and not (
      select o.active from organizations o where o.organization_id = g.owner) then 'organization'
    else '' end
  from projects p join organizations h on h.organization_id = p.owner
  where p.project_id = g.project_id) as "shutBy",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g
where g.owner = $1
  and true
  and true
  and true
  and g.user_grant_id < $2
order by g.user_grant_id desc limit $3;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.version, g.created, g.changed,
(select case when not p.active then 'project'
    when not h.active then 'organization'
    when g.project_grant_id is not null and not (
      select o.active from organizations o where o.organization_id = g.owner) then 'organization'
    else '' end
  from projects p join organizations h on h.organization_id = p.owner
  where p.project_id = g.project_id) as "shutBy",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g
where g.owner = $1
  and g.user_id = $2
  and g.project_id = $3
  and (g.project_id = any($4) or g.project_grant_id = any($5))
  and true
order by g.user_grant_id desc limit $6;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text)
)
select n, p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed, g.project_grant_id as "grantId"
             from asked join projects p on p.project_id = asked.id
             left join project_grants g
               on g.project_id = p.project_id and g.granted_organization_id = asked.organization
             where p.owner = asked.organization or (g.project_grant_id is not null and (select not d.deleted from organizations d where d.organization_id = p.owner));

select project_grant_id as id, owner, version, created, changed, project_id as "projectId",
  granted_organization_id as "grantedOrganizationId",
  array(select role_key from project_grant_roles r
        where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys"
from project_grants g
where project_id = $1
  and true
  and true
order by project_grant_id desc limit $2;

select project_grant_id as id, owner, version, created, changed, project_id as "projectId",
  granted_organization_id as "grantedOrganizationId",
  array(select role_key from project_grant_roles r
        where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys"
from project_grants g
where project_id = $1
  and true
  and project_grant_id < $2
order by project_grant_id desc limit $3;

select project_grant_id as id, owner, version, created, changed, project_id as "projectId",
  granted_organization_id as "grantedOrganizationId",
  array(select role_key from project_grant_roles r
        where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys"
from project_grants g
where project_id = $1
  and project_grant_id = $2
  and true
order by project_grant_id desc limit $3;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text)
)
select n, p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed, g.project_grant_id as "grantId"
             from asked join projects p on p.project_id = asked.id
             left join project_grants g
               on g.project_id = p.project_id and g.granted_organization_id = asked.organization
             where p.owner = asked.organization or (g.project_grant_id is not null and (select not d.deleted from organizations d where d.organization_id = p.owner));

select role_key as key, display_name as "displayName" from project_roles
where project_id = $1 and true
order by role_key limit $2;

select role_key as key, display_name as "displayName" from project_roles
where project_id = $1 and role_key > $2
order by role_key limit $3;

select g.role_key as key, r.display_name as "displayName"
from project_grant_roles g join project_roles r on r.project_id = g.project_id and r.role_key = g.role_key
where g.project_grant_id = $1 and true
order by g.role_key limit $2;

select g.role_key as key, r.display_name as "displayName"
from project_grant_roles g join project_roles r on r.project_id = g.project_id and r.role_key = g.role_key
where g.project_grant_id = $1 and g.role_key > $2
order by g.role_key limit $3;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text)
)
select n, p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created,
               p.changed, g.project_grant_id as "grantId"
             from asked join projects p on p.project_id = asked.id
             left join lateral (
               select project_grant_id from project_grants g
               where g.project_id = p.project_id and g.granted_organization_id = asked.organization limit 1) g on true
             where p.owner = asked.organization or (g.project_grant_id is not null and (select not d.deleted from organizations d where d.organization_id = p.owner));

select g.project_grant_id as id, g.owner, g.version, g.created, g.changed, g.project_id as "projectId",
g.granted_organization_id as "grantedOrganizationId",
array(select role_key from project_grant_roles r
      where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys" from project_grants g
where (g.project_id collate "C") = $1 and true
and true
order by (g.project_grant_id collate "C") desc limit $2;

select g.project_grant_id as id, g.owner, g.version, g.created, g.changed, g.project_id as "projectId",
g.granted_organization_id as "grantedOrganizationId",
array(select role_key from project_grant_roles r
      where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys" from project_grants g
where (g.project_id collate "C") = $1 and true
and (g.project_grant_id collate "C") < $2
order by (g.project_grant_id collate "C") desc limit $3;

select g.project_grant_id as id, g.owner, g.version, g.created, g.changed, g.project_id as "projectId",
g.granted_organization_id as "grantedOrganizationId",
array(select role_key from project_grant_roles r
      where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys" from project_grants g
where g.project_id = $1
and true
and g.project_grant_id = $2 and true
and true
order by (g.project_grant_id collate "C") desc limit $3;

select g.project_grant_id as id, g.owner, g.version, g.created, g.changed, g.project_id as "projectId",
g.granted_organization_id as "grantedOrganizationId",
array(select role_key from project_grant_roles r
      where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys" from project_grant_roles k cross join lateral (
    select * from project_grants where project_grant_id = k.project_grant_id limit 1) g
  where (k.project_id collate "C") = $1 and (k.role_key collate "C") = $2
and true
order by (k.project_grant_id collate "C") desc limit $3;

select g.project_grant_id as id, g.owner, g.version, g.created, g.changed, g.project_id as "projectId",
g.granted_organization_id as "grantedOrganizationId",
array(select role_key from project_grant_roles r
      where r.project_grant_id = g.project_grant_id order by role_key) as "roleKeys" from project_grants g
where g.project_id = $1
and g.granted_organization_id = $2
and true and exists (
select from project_grant_roles k where k.project_grant_id = g.project_grant_id and k.role_key = $3)
and true
order by (g.project_grant_id collate "C") desc limit $4;

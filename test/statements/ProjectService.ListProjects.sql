select id, owner, name, active, version, created, changed from (
  (select p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed from projects p where p.owner = $1 and true
order by p.name, p.project_id limit $2)
  union all
  (select p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed from project_grants g join projects p on p.project_id = g.project_id
   where $3 and (select not d.deleted from organizations d where d.organization_id = g.owner) and g.granted_organization_id = $4 and true
order by p.name, p.project_id limit $5)
) both_kinds order by name, id limit $6;

select id, owner, name, active, version, created, changed from (
  (select p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed from projects p where p.owner = $1 and true
and (p.name, p.project_id) > ($2, $3)
order by p.name, p.project_id limit $4)
  union all
  (select p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed from project_grants g join projects p on p.project_id = g.project_id
   where $5 and (select not d.deleted from organizations d where d.organization_id = g.owner) and g.granted_organization_id = $6 and true
and (p.name, p.project_id) > ($7, $8)
order by p.name, p.project_id limit $9)
) both_kinds order by name, id limit $10;

select id, owner, name, active, version, created, changed from (
  (select p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed from projects p where p.owner = $1 and p.project_id = any($2)
order by p.name, p.project_id limit $3)
  union all
  (select p.project_id as id, p.owner, p.name, p.active, p.version, p.created, p.changed from project_grants g join projects p on p.project_id = g.project_id
   where $4 and (select not d.deleted from organizations d where d.organization_id = g.owner) and g.granted_organization_id = $5 and g.project_grant_id = any($6)
order by p.name, p.project_id limit $7)
) both_kinds order by name, id limit $8;

select organization_id as id, organization_id as owner, name, active, version, created, changed from organizations
where not deleted and true
  and true
order by name, organization_id limit $1;

select organization_id as id, organization_id as owner, name, active, version, created, changed from organizations
where not deleted and true
  and (name, organization_id) > ($1, $2)
order by name, organization_id limit $3;

select organization_id as id, organization_id as owner, name, active, version, created, changed from organizations
where not deleted and organization_id = any($1)
  and true
order by name, organization_id limit $2;

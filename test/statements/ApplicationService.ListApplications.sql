select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc,
  a.active, a.version, a.created, a.changed,
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey"
from projects p left join lateral (
  select app_id, owner, project_id, name, client_id, oidc, active, version, created, changed from applications
  where project_id = p.project_id and true
  order by name limit $1) a on true
where p.owner = $2 and p.project_id = $3
order by a.name;

select a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc,
  a.active, a.version, a.created, a.changed,
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey"
from projects p left join lateral (
  select app_id, owner, project_id, name, client_id, oidc, active, version, created, changed from applications
  where project_id = p.project_id and name > $1
  order by name limit $2) a on true
where p.owner = $3 and p.project_id = $4
order by a.name;

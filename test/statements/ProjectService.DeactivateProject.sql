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

-- appends: facts/project.deactivated.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text, key text)
)
select n, p.project_id as id, p.owner, p.version, p.created, p.changed,
               r.deleted is false as "hasRole", r.deleted is true as "isBeingDeleted"
             from asked join projects p on p.owner = asked.organization and p.project_id = asked.id
             left join all_project_roles r on r.project_id = p.project_id and r.role_key = asked.key;

-- appends: facts/project.role_added.sql

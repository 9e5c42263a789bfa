with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, key text)
)
select n, p.project_id as id, p.owner, p.version, p.created, p.changed, r.display_name as "displayName"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.id
             left join project_roles r on r.project_id = p.project_id and r.role_key = asked.key;

-- appends: facts/project.role_changed.sql

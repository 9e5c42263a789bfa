with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, name text)
)
select n, project_id as id from asked
             join projects p on p.owner = asked.organization and p.name = asked.name;

-- appends: facts/project.created.sql

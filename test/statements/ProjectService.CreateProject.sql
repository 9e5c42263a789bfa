with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, name text)
)
select n, project_id as id from asked
             cross join lateral (
               select * from projects t
               where t.owner = asked.organization and as_read(folded(t.name)) = as_read(folded(asked.name)) limit 1) p;

-- appends: facts/project.created.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, ids text[])
)
select n, p.project_id as id, p.name from asked cross join lateral (
        select q.project_id, q.name from projects q where q.project_id = any(asked.ids) offset 0) p;

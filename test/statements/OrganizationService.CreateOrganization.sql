with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, name text)
)
select n, organization_id as id from asked join organizations using (name);

-- appends: facts/organization.created.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n from asked join organizations on organization_id = asked.id and not deleted;

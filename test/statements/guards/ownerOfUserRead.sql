with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, u.owner from asked join users u on u.user_id = asked.id where (select not d.deleted from organizations d where d.organization_id = u.owner);

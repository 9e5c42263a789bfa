with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, owner from asked join users on user_id = asked.id;

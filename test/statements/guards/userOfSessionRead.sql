with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, user_id as "userId", owner from asked join sessions on session_id = asked.id;

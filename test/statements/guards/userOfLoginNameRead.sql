with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text)
)
select n, user_id as "userId", owner from asked join login_names using (login_name);

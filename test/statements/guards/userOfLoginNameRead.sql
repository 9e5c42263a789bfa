with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text)
)
select n, l.user_id as "userId", l.owner from asked join login_names l using (login_name)
             where (select not d.deleted from organizations d where d.organization_id = l.owner);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text, organization text)
)
select n, l.user_id as "userId", l.owner from asked join lateral (
    select d.user_id, d.owner from login_names d where asked.organization is null and d.login_name = asked.login_name
    union all
    select o.user_id, o.owner from organization_login_names o
    where o.owner = asked.organization and o.login_name = asked.login_name) l on true
             where (select not d.deleted from organizations d where d.organization_id = l.owner);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, s.user_id as "userId", s.owner from asked join sessions s on s.session_id = asked.id
             where (select not d.deleted from organizations d where d.organization_id = s.owner);

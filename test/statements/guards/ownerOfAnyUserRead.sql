with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, e.owner from asked cross join lateral (
               select * from events where stream = asked.id and version = 1 order by time, position limit 1) e
             where e.type in ('user.human_created', 'user.machine_created');

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner is not null as "isSet", p.owner, 'registration-policy' as id, audience, e.version, p.created,
               e.time as changed
             from asked left join registration_policies p on p.owner = asked.owner
             left join lateral (
               select e.version, e.time from events e
               where e.owner = asked.owner and e.stream = 'registration-policy' order by e.version desc limit 1) e on true;

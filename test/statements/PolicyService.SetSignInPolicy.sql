with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner is not null as "isSet", p.owner, 'sign-in-policy' as id, mail_codes as "mailCodes", e.version, p.created,
               e.time as changed
             from asked left join sign_in_policies p on p.owner = asked.owner
             left join lateral (
               select e.version, e.time from events e
               where e.owner = asked.owner and e.stream = 'sign-in-policy' order by e.version desc limit 1) e on true;

-- appends: facts/policy.sign_in_set.sql

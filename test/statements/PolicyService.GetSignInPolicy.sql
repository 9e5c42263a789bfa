with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner, 'sign-in-policy' as id, mail_codes as "mailCodes", version, created, changed
             from asked cross join instance cross join lateral (select q.* from sign_in_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed from sessions s
where s.user_id = $1 and s.session_id <> $2 order by s.session_id limit 10000;

select b.owner, o.sign_on_id as "signOnId", o.user_id as "userId", o.app_id as "appId", o.session_id as "sessionId"
from sign_ons o join browser_sessions b on b.session_id = o.session_id
where o.user_id = $1 and o.expiration_date > $2
  and not exists (select from sessions s where s.session_id = o.session_id)
order by o.sign_on_id limit 10000;

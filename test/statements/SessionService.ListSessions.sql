with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed, s.origin, coalesce(b.last_used, w.last_used) as "lastUsed",
  coalesce(b.last_used_origin, w.last_used_origin) as "lastUsedOrigin"
from sessions s left join bearers b on b.session_id = s.session_id left join browser_sessions w on w.session_id = s.session_id
where s.user_id = $1 and s.expiration_date > $2
  and true
order by s.session_id desc limit $3;

select s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed, s.origin, coalesce(b.last_used, w.last_used) as "lastUsed",
  coalesce(b.last_used_origin, w.last_used_origin) as "lastUsedOrigin"
from sessions s left join bearers b on b.session_id = s.session_id left join browser_sessions w on w.session_id = s.session_id
where s.user_id = $1 and s.expiration_date > $2
  and s.session_id < $3
order by s.session_id desc limit $4;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
  s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed from asked join sessions s on s.owner = asked.owner and s.session_id = asked.id;

-- appends: facts/session.ended.sql

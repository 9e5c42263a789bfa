with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed from sessions s
where s.user_id = $1 and s.session_id <> $2 order by s.session_id limit 10000;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, "user" text, session text)
)
select n, u.kind, s.created as "authTime", coalesce(s.amr, '{}') as methods, exists (
               select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes') as "hasFactor"
             from asked join users u on u.user_id = asked."user"
             left join sessions s on s.session_id = asked.session and s.user_id = u.user_id;

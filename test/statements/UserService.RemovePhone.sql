with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, phone text)
)
select n, u.user_id as id, u.owner, u.kind, (u.active and (select h.active from organizations h where h.organization_id = u.owner)) as active,
      u.version, u.created, u.changed, c.attempts as "codeAttempts", c.expiration_date as "codeExpiration", u.phone_verified as verified, u.phone,
  (select s.time from phone_sends s
   where (s.user_id, s.time) between (u.user_id, timestamptz '-infinity') and (u.user_id, timestamptz 'infinity')
   order by s.user_id desc, s.time desc offset 9 limit 1) as "userLimit",
  (select s.time from phone_sends s where s.phone = coalesce(asked.phone, u.phone)
   order by s.n desc offset 19 limit 1) as "numberLimit",
  (select coalesce(max(s.n), 0) + 1 from phone_sends s where s.phone = coalesce(asked.phone, u.phone)) as nth
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id
      left join phone_codes c on c.user_id = u.user_id;

-- appends: facts/user.phone_removed.sql

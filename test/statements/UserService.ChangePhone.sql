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

-- appends: facts/user.phone_changed.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n,
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and not exists (select from ended_roles e
      where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0)
  ), '[]'::jsonb) as memberships from asked join all_users u on u.user_id = asked.id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, email text, domain text, since timestamptz)
)
select n, coalesce((select o.name from organizations o where o.organization_id = asked.owner), '') as "organizationName",
      r.registration_id as id, r.owner, r.version, r.created, r.changed,
  (select p.audience from registration_policies p join organizations h on h.organization_id = p.owner
   where p.owner = asked.owner and h.active and not h.deleted) as audience,
  exists (select from domains d where d.name = asked.domain and d.owner = asked.owner and d.proven offset 0) as "isOwnDomain",
  (select f.user_id from (
     select u.user_id, u.owner, lower(u.email) as email from users u
     where (u.owner, lower(u.email)) >= (asked.owner, lower(asked.email)) and (u.email_verified or u.email_setter <> u.user_id)
     order by u.owner, lower(u.email) limit 1) f
   where f.owner = asked.owner and f.email = lower(asked.email)) as "knownAs",
  (select count(*)::integer from (
    select from mail_sends s where (s.user_id, s.purpose, s.time)
      between (asked.owner, 'registration', asked.since) and (asked.owner, 'registration', timestamptz 'infinity')
    limit 1000) s) as sent,
  (select s.time from mail_sends s where s.email = lower(asked.email) and s.purpose = 'registration' and s.user_id = asked.owner
   order by s.n desc offset 2 limit 1) as "ownLimit",
  (select s.time from mail_sends s where s.email = lower(asked.email) and s.purpose = 'registration'
   order by s.n desc offset 19 limit 1) as "addressLimit",
  (select coalesce(max(s.n), 0) + 1 from mail_sends s
   where s.email = lower(asked.email) and s.purpose = 'registration') as nth
      from asked
      left join registration_addresses a on a.owner = asked.owner and lower(a.email) = lower(asked.email)
      left join registrations r on r.registration_id = a.registration_id;

-- appends: facts/registration.created.sql

-- appends: facts/registration.resent.sql

-- appends: facts/attempt.registration_requested.sql

with due as materialized (
  select request_id from password_reset_requests where due <= now() order by due limit $1 for update skip locked
)
update password_reset_requests r set due = now() + interval '1 minute' from due d where r.request_id = d.request_id
returning r.request_id as id, r.login_name as "loginName", r.email,
  r.name_or_email as "nameOrEmail", r.sign_in_name as "signInName", r.organization_id as "organizationId", r.language,
  r.browsers, r.call_id as "callId", r.origin;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text, organization text, address text, local_part text, domain text, browsers text, now timestamptz)
)
select n, u.user_id as id, u.owner, u.email, case when coalesce((
        select d.owner from domains d where d.proven and d.name = substring(lower(normalize(u.username, nfkc)) from '@([^@]+)$')),
      case when not u.own_login_name then u.owner end) = u.owner
    then u.username
    else u.username || '@' || coalesce((
      select d.name from (
        select e.name, own.login_name || '@' || e.name as named
        from organization_login_names own join domains e on e.owner = own.owner and e.proven
        where own.owner = u.owner and own.user_id = u.user_id and own.own is not null
        order by e.proven_since, e.domain_id limit 1) d
      where not exists (select from organization_login_names o where o.owner = u.owner and o.login_name = d.named offset 0)
        and not exists (
          select from users v where v.owner = u.owner and lower(v.email) = d.named and (v.email_verified or v.email_setter <> v.user_id)
            and v.user_id <> u.user_id offset 0)), u.owner) end as "qualifiedName",
               exists (
  select encode(k.hash, 'hex') as hash from unnest(string_to_array(asked.browsers, ' ')) as value
  join known_browsers k on k.hash = decode(value, 'hex')
  left join passwords p on p.user_id = k.user_id
  where k.user_id = u.user_id and k.since is not distinct from p.changed and k.expiration_date > asked.now
  limit 1) as "isKnown"
             from asked join lateral (
    select found.who[1] as user_id, found.who[2] as owner, r.organization
    from (
      select coalesce(asked.organization, h.owner) as organization,
        coalesce(h.owner = coalesce(asked.organization, h.owner), false) as is_holder
      from (select (select d.owner from domains d where d.name = asked.domain and d.proven) as owner offset 0) h offset 0
    ) r
    left join lateral (
      select d.user_id, d.owner from login_names d where r.organization is null and d.login_name = asked.login_name
      union all
      select o.user_id, o.owner from organization_login_names o
      where o.owner = r.organization and o.login_name = asked.login_name
    ) n on true
    cross join lateral (
      select count(*) as found, min(one.user_id) as user_id, min(one.owner) as owner from (
      select u.user_id, u.owner from users u
      where r.organization is null and u.proven_email = asked.address and u.email_verified and u.proven_email is not distinct from lower(u.email)
      union all
      select u.user_id, u.owner from users u
      where not r.is_holder and u.proven_email = asked.address and u.owner = r.organization and u.email_verified and u.proven_email is not distinct from lower(u.email)
      union all
      select u.user_id, u.owner from users u
      where r.is_holder and u.owner = r.organization and lower(u.email) = asked.address and (u.email_verified or u.email_setter <> u.user_id)
      limit 2
      ) one
    ) a
    left join lateral (
      select o.user_id, o.owner from organization_login_names o
      where r.is_holder and o.owner = r.organization and o.login_name = asked.local_part
    ) q on true
    cross join lateral (
      select case
        when n.user_id is not null then array[n.user_id, n.owner]
        when a.found = 1 then array[a.user_id, a.owner]
        when a.found = 0 then array[q.user_id, q.owner]
      end as who
    ) found) l on true join users u on u.owner = l.owner and u.user_id = l.user_id
             where u.kind = 'human' and (u.active and (select h.active from organizations h where h.organization_id = u.owner)) and u.email_verified and u.proven_email is not distinct from lower(u.email) and (coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) p), false) and (
  coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in ((select instance_id from instance), instance_id) order by q.owner = (select instance_id from instance) desc limit 1) p), false)
  or not exists (select from members m where m.user_id = u.user_id and m.scope = 'instance' offset 0))) and not (u.locked and coalesce(u.locked_until > asked.now, true));

select
(select s.time from mail_sends s
 where (s.user_id, s.purpose, s.time)
   between ($1::text, 'sign_in', timestamptz '-infinity') and ($1::text, 'sign_in', timestamptz 'infinity')
 order by s.user_id desc, s.purpose desc, s.time desc offset 9 limit 1) as "userLimit",
(select s.time from mail_sends s where s.email = lower($2::text) and s.purpose = 'sign_in'
 order by s.n desc offset 19 limit 1) as "addressLimit",
(select coalesce(max(s.n), 0) + 1 from mail_sends s
 where s.email = lower($2::text) and s.purpose = 'sign_in') as nth;

-- appends: facts/attempt.sign_in_code_requested.sql

delete from password_reset_requests where request_id = $1;

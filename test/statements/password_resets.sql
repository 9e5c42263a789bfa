with due as materialized (
  select request_id from password_reset_requests where due <= now() order by due limit $1 for update skip locked
)
update password_reset_requests r set due = now() + interval '1 minute' from due d where r.request_id = d.request_id
returning r.request_id as id, r.login_name as "loginName", r.email,
  r.name_or_email as "nameOrEmail", r.sign_in_name as "signInName", r.organization_id as "organizationId", r.language,
  r.browsers, r.call_id as "callId", r.origin;

with asked as (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (login_name text, organization text, address text, local_part text, domain text)
), named as materialized (
  select v.user_id, lower(v.email) as email
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
  ) found) l on true join users v on v.owner = l.owner and v.user_id = l.user_id
  where (v.active and (select h.active from organizations h where h.organization_id = v.owner))
    and (v.email_verified or not ((
select case when exists (select from members m where m.user_id = v.user_id and m.scope = 'instance')
  then (select jsonb_build_object(
    'requiresUpper', (o.policy->>'requiresUpper')::boolean or (i.policy->>'requiresUpper')::boolean, 'requiresLower', (o.policy->>'requiresLower')::boolean or (i.policy->>'requiresLower')::boolean, 'requiresDigit', (o.policy->>'requiresDigit')::boolean or (i.policy->>'requiresDigit')::boolean, 'requiresSymbol', (o.policy->>'requiresSymbol')::boolean or (i.policy->>'requiresSymbol')::boolean,
    'changeAtNextSignIn', (o.policy->>'changeAtNextSignIn')::boolean or (i.policy->>'changeAtNextSignIn')::boolean, 'resetRequiresVerifiedEmail', (o.policy->>'resetRequiresVerifiedEmail')::boolean or (i.policy->>'resetRequiresVerifiedEmail')::boolean, 'untilUnlocked', (o.policy->>'untilUnlocked')::boolean or (i.policy->>'untilUnlocked')::boolean,
    'minimumLength', greatest((o.policy->>'minimumLength')::numeric, (i.policy->>'minimumLength')::numeric), 'historyDepth', greatest((o.policy->>'historyDepth')::numeric, (i.policy->>'historyDepth')::numeric),
    'maximumAgeDays', coalesce(least(nullif((o.policy->>'maximumAgeDays')::integer, 0), nullif((i.policy->>'maximumAgeDays')::integer, 0)), 0), 'maximumAttempts', coalesce(least(nullif((o.policy->>'maximumAttempts')::integer, 0), nullif((i.policy->>'maximumAttempts')::integer, 0)), 0), 'lockSeconds', case when (o.policy->>'lockSeconds')::numeric + (i.policy->>'lockSeconds')::numeric is not null then greatest((o.policy->>'lockSeconds')::numeric,(i.policy->>'lockSeconds')::numeric) end,
    'leastLockSeconds', greatest((o.policy->>'lockSeconds')::numeric,(i.policy->>'lockSeconds')::numeric),
    'factorRequirement', (select r from unnest('{FACTOR_REQUIREMENT_OFF,FACTOR_REQUIREMENT_OPTIONAL,FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS,FACTOR_REQUIREMENT_REQUIRED}'::text[]) with ordinality as r (r, strictness)
      where r in (o.policy->>'factorRequirement', i.policy->>'factorRequirement') order by strictness desc limit 1)) from (select (
select jsonb_build_object(
  'minimumLength', coalesce(p.minimum_length, 8),
  'requiresUpper', coalesce(p.requires_upper, true),
  'requiresLower', coalesce(p.requires_lower, true),
  'requiresDigit', coalesce(p.requires_digit, true),
  'requiresSymbol', coalesce(p.requires_symbol, true),
  'historyDepth', coalesce(p.history_depth, 0),
  'changeAtNextSignIn', coalesce(p.change_at_next_sign_in, false),
  'maximumAgeDays', coalesce(p.maximum_age_days, 0),
  'resetRequiresVerifiedEmail', coalesce(p.reset_requires_verified_email, false),
  'maximumAttempts', coalesce(l.maximum_attempts, 10),
  'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, false),
  'factorRequirement', coalesce(f.requirement, 'FACTOR_REQUIREMENT_OPTIONAL'))
from instance
  left join lateral (select q.* from password_policies q where q.owner in (instance_id, instance_id) order by q.owner = instance_id desc limit 1) p on true
  left join lateral (select q.* from lockout_policies q where q.owner in (instance_id, instance_id) order by q.owner = instance_id desc limit 1) l on true
  left join lateral (select q.* from factor_policies q where q.owner in (instance_id, instance_id) order by q.owner = instance_id desc limit 1) f on true) as policy offset 0) i)
  else o.policy end
from (select (
select jsonb_build_object(
  'minimumLength', coalesce(p.minimum_length, 8),
  'requiresUpper', coalesce(p.requires_upper, true),
  'requiresLower', coalesce(p.requires_lower, true),
  'requiresDigit', coalesce(p.requires_digit, true),
  'requiresSymbol', coalesce(p.requires_symbol, true),
  'historyDepth', coalesce(p.history_depth, 0),
  'changeAtNextSignIn', coalesce(p.change_at_next_sign_in, false),
  'maximumAgeDays', coalesce(p.maximum_age_days, 0),
  'resetRequiresVerifiedEmail', coalesce(p.reset_requires_verified_email, false),
  'maximumAttempts', coalesce(l.maximum_attempts, 10),
  'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, false),
  'factorRequirement', coalesce(f.requirement, 'FACTOR_REQUIREMENT_OPTIONAL'))
from instance
  left join lateral (select q.* from password_policies q where q.owner in (v.owner, instance_id) order by q.owner = v.owner desc limit 1) p on true
  left join lateral (select q.* from lockout_policies q where q.owner in (v.owner, instance_id) order by q.owner = v.owner desc limit 1) l on true
  left join lateral (select q.* from factor_policies q where q.owner in (v.owner, instance_id) order by q.owner = v.owner desc limit 1) f on true) as policy offset 0) o)->>'resetRequiresVerifiedEmail')::boolean)
), found as (
  select n.user_id, 0 as place from named n
  union all (
    select u.user_id, 1 as place from users u join passwords p on p.user_id = u.user_id
    where u.email_verified and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
      and lower(u.email) = coalesce(lower($2), (select n.email from named n))
      and ($3::text is null or u.owner = $4)
      and not exists (select from named n where n.user_id = u.user_id)
    order by u.created, u.user_id limit $5)
)
select u.user_id as id, u.owner, case when coalesce((
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
          and v.user_id <> u.user_id offset 0)), u.owner) end as "qualifiedName", u.email
from found f join users u on u.user_id = f.user_id join passwords p on p.user_id = u.user_id
order by f.place, u.created, u.user_id limit $6;

select
(select s.time from mail_sends s
 where (s.user_id, s.purpose, s.time)
   between ($1::text, 'password', timestamptz '-infinity') and ($1::text, 'password', timestamptz 'infinity')
 order by s.user_id desc, s.purpose desc, s.time desc offset 9 limit 1) as "userLimit",
(select s.time from mail_sends s where s.email = lower($2::text) and s.purpose = 'password'
 order by s.n desc offset 19 limit 1) as "addressLimit",
(select coalesce(max(s.n), 0) + 1 from mail_sends s
 where s.email = lower($2::text) and s.purpose = 'password') as nth;

-- appends: facts/attempt.password_reset_requested.sql

delete from password_reset_requests where request_id = $1;

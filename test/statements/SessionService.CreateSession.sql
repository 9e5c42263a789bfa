with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text, organization text, address text, local_part text, domain text, nobody text, browsers text, now timestamptz)
)
select n, f.subject, l.user_id as "userId", l.owner, k.hash as known,
               s.wait_until as "waitUntil", (
  select jsonb_build_object('maximumAttempts', coalesce(l.maximum_attempts, 10),
    'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, false)) from instance left join lockout_policies l on l.owner = instance_id) as lockout
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
    ) found) l on true
             cross join lateral (
               select coalesce(l.user_id, asked.nobody || coalesce('.' || l.organization, '')) as subject offset 0) f
             left join sign_in_failures s on s.subject = f.subject
             left join lateral (
  select encode(k.hash, 'hex') as hash from unnest(string_to_array(asked.browsers, ' ')) as value
  join known_browsers k on k.hash = decode(value, 'hex')
  left join passwords p on p.user_id = k.user_id
  where k.user_id = l.user_id and k.since is not distinct from p.changed and k.expiration_date > asked.now
  limit 1) k on true;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.kind, (u.active and (select h.active from organizations h where h.organization_id = u.owner)) as active, u.locked, u.locked_until as "lockedUntil",
  jsonb_build_array(u.username, u.given_name, u.family_name, u.email) as names, p.hash, p.changed::text as since,
  p.changed as "setAt", p.set_by_administrator as "setByAdministrator", p.must_change as "mustChange", u.requires_factor as "requiresFactor",
  coalesce((select jsonb_agg(h.hash order by h.changed desc) from password_history h where h.user_id = u.user_id), '[]')
    as history,
  coalesce((select a.locks from password_attempts a where a.user_id = u.user_id), 0) as locks,
  coalesce((select jsonb_agg(distinct f.kind) from factors f where f.user_id = u.user_id), '[]') as "factorKinds",
  exists (select from members m where m.user_id = u.user_id) as "isAdministrator",
  (
  select case when exists (select from members m where m.user_id = u.user_id and m.scope = 'instance')
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
    left join lateral (select q.* from password_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) p on true
    left join lateral (select q.* from lockout_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) l on true
    left join lateral (select q.* from factor_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) f on true) as policy offset 0) o) as policy, u.version, u.created, u.changed
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join passwords p on p.user_id = u.user_id;

insert into password_attempts as a (user_id, attempts, allowed) values ($1, 1, $2)
on conflict (user_id) do update set allowed = excluded.allowed,
  attempts = case when a.attempts = $3 then 1 else least(a.attempts + 1, excluded.allowed) end
where a.attempts < excluded.allowed or ($4 and a.attempts = $5)
  or (a.allowed is distinct from excluded.allowed and a.attempts < $6)
returning attempts;

with cleared as (delete from password_attempts where user_id = $1)
delete from sign_in_failures where subject = $2 and (wait_until is null or wait_until <= $3);

select wait_until as until from sign_in_failures where subject = $1 and wait_until > $2;

-- appends: facts/session.created.sql

select exists (select from sessions s where s.user_id = u.user_id offset $1) as "hasSurplus"
from users u left join passwords p using (user_id)
where u.user_id = $2 and p.changed::text is not distinct from $3::text and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
  and ($4::boolean or not exists (
    select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes' offset 0));

-- appends: facts/session.created_and_user.password_changed.sql

with gone as (
  delete from pending_sessions where mac in (
    select mac from pending_sessions where user_id = $1 order by created desc offset $2)
),
code as (
  select id, until from (values ($3::text, $4::timestamptz)) as c (id, until)
  where id is not null
),
spent as (
  insert into spent_challenges (challenge, expiration_date) select convert_to(id, 'utf8'), until from code
  on conflict (challenge) do nothing returning 1
),
used as (delete from mail_codes c using code where c.mail_code_id = code.id)
insert into pending_sessions (mac, user_id, since, challenge, hashes, created, expiration_date, is_known, method)
select $5::bytea, $6::text, $7::text, $8::bytea,
  $9::text::jsonb, $10::timestamptz, $11::timestamptz, $12::boolean, $13::text
where not exists (select from code) or exists (select from spent);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, "user" text)
)
select n, p.credential_id as id, p.transports, p.user_handle as handle
             from asked join passkeys p on p.user_id = asked."user" order by n, p.factor_id;

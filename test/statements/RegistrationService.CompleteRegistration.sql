with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text, now timestamptz)
)
select n, r.registration_id as id, r.owner, r.version, r.created, r.changed, c.email, h.name as "organizationName",
        exists (select from domains d where d.owner = r.owner and d.proven offset 0) as "hasDomain",
        encode(c.browser, 'hex') as browser, (
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
    left join lateral (select q.* from password_policies q where q.owner in (r.owner, instance_id) order by q.owner = r.owner desc limit 1) p on true
    left join lateral (select q.* from lockout_policies q where q.owner in (r.owner, instance_id) order by q.owner = r.owner desc limit 1) l on true
    left join lateral (select q.* from factor_policies q where q.owner in (r.owner, instance_id) order by q.owner = r.owner desc limit 1) f on true) as policy,
  (select p.audience from registration_policies p join organizations h on h.organization_id = p.owner
   where p.owner = r.owner and h.active and not h.deleted) as audience,
  exists (select from domains d where d.name = split_part(lower(c.email), '@', 2) and d.owner = r.owner and d.proven offset 0) as "isOwnDomain",
  (select f.user_id from (
     select u.user_id, u.owner, lower(u.email) as email from users u
     where (u.owner, lower(u.email)) >= (r.owner, lower(c.email)) and (u.email_verified or u.email_setter <> u.user_id)
     order by u.owner, lower(u.email) limit 1) f
   where f.owner = r.owner and f.email = lower(c.email)) as "knownAs"
      from asked
      join mail_codes c on c.mac = decode(asked.hash, 'hex') and c.purpose = 'registration' and c.expiration_date > asked.now
      join registrations r on r.registration_id = c.user_id
      join organizations h on h.organization_id = r.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, login_name text, user_id text)
)
select n, l.user_id as "takenBy", l.owner as "takenIn", coalesce(h.own_login_names, false) as "ownLoginNames",
               asked.user_id is not null and (exists (select from events e where e.stream = asked.user_id offset 0)
                 or exists (select from burned_ids b where b.id = asked.user_id offset 0)) as "idUsed", (
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
    left join lateral (select q.* from password_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p on true
    left join lateral (select q.* from lockout_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) l on true
    left join lateral (select q.* from factor_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) f on true) as policy
             from asked left join organizations h on h.organization_id = asked.owner
             left join lateral (
               select d.user_id, d.owner from login_names d where not h.own_login_names and d.login_name = asked.login_name
               union all
               select o.user_id, o.owner from organization_login_names o
               where h.own_login_names and o.owner = asked.owner and o.login_name = asked.login_name) l on true;

-- appends: facts/user.human_created_and_registration.completed.sql

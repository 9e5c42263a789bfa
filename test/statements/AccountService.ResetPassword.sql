with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, macs text[], now timestamptz)
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
    left join lateral (select q.* from factor_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) f on true) as policy offset 0) o) as policy, u.version, u.created, u.changed, c.mail_id is not null as "wasMailed"
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join mail_codes c on c.mac = decode(m.mac, 'hex') and c.purpose = 'password' and c.expiration_date > asked.now
             join users u on u.owner = c.owner and u.user_id = c.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
               and (c.mail_id is null or lower(c.email) = lower(u.email))
             left join passwords p on p.user_id = u.user_id;

-- appends: facts/user.password_changed.sql

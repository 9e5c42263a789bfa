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
    left join lateral (select q.* from factor_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) f on true) as policy offset 0) o) as policy, u.version, u.created, u.changed, s.challenge, s.hashes, s.expiration_date as "pendingUntil", s.is_known as "isKnown", s.method
             from asked cross join lateral unnest(asked.macs) as m (mac)
             join pending_sessions s on s.mac = decode(m.mac, 'hex') and s.expiration_date > asked.now
             join users u on u.user_id = s.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
             left join passwords p on p.user_id = u.user_id
             where p.changed::text is not distinct from s.since and (s.method <> 'otp' or s.is_known or (coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) p), false) and (
  coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in ((select instance_id from instance), instance_id) order by q.owner = (select instance_id from instance) desc limit 1) p), false)
  or not exists (select from members m where m.user_id = u.user_id and m.scope = 'instance' offset 0)))) and not exists (select from spent_challenges c where c.challenge = s.challenge);

insert into factor_attempts as a (user_id, attempts) values ($1, 1)
on conflict (user_id) do update set attempts = a.attempts + 1,
  blocked_until = case when (a.attempts + 1) % $2 = 0 then $3::timestamptz
    + least($4 * 2 ^ least((a.attempts + 1) / $5 - 1, 16), $6)
    * interval '1 second' end
where a.blocked_until is null or a.blocked_until <= $7
returning blocked_until as until;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, "user" text, kind text)
)
select n, f.factor_id as id, f.owner, f.user_id as "userId", f.kind, f.name, f.is_synced as "isSynced",
  f.last_used as "lastUsed", f.version, f.created, f.changed,
  (select count(*) from recovery_codes r where r.factor_id = f.factor_id)::integer as "codesLeft", s.sealed, s.last_step as "lastStep"
             from asked join factors f on f.user_id = asked."user" and f.kind = asked.kind
             join factor_secrets s on s.factor_id = f.factor_id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, factor text, mac text)
)
select n from asked
             join recovery_codes r on r.factor_id = asked.factor and r.mac = decode(asked.mac, 'hex');

-- appends: facts/factor.used_and_session.created.sql

select exists (select from sessions s where s.user_id = u.user_id offset $1) as "hasSurplus"
from users u left join passwords p using (user_id)
where u.user_id = $2 and p.changed::text is not distinct from $3::text and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
  and ($4::boolean or not exists (
    select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes' offset 0));

-- appends: facts/factor.used_and_session.created_and_user.password_changed.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, credential text)
)
select n, f.factor_id as id, f.owner, f.user_id as "userId", f.kind, f.name, f.is_synced as "isSynced",
  f.last_used as "lastUsed", f.version, f.created, f.changed,
  (select count(*) from recovery_codes r where r.factor_id = f.factor_id)::integer as "codesLeft", k.credential_id as "credentialId", k.public_key as "publicKey",
               k.user_handle as handle, k.counter, k.transports, p.changed::text as since
             from asked join passkeys k on k.credential_id = decode(asked.credential, 'hex')
             join factors f on f.factor_id = k.factor_id
             join users u on u.user_id = f.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
             left join passwords p on p.user_id = u.user_id;

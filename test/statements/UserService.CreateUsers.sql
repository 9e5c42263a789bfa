with asked as materialized (
    select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, login_name text, user_id text)
  )
  select n, l.user_id as "takenBy", l.owner as "takenIn",
             asked.user_id is not null and exists (select from events e where e.stream = asked.user_id offset 0) as "idUsed", (
select jsonb_build_object(
  'minimumLength', coalesce(p.minimum_length, 8),
  'requiresUpper', coalesce(p.requires_upper, true),
  'requiresLower', coalesce(p.requires_lower, true),
  'requiresDigit', coalesce(p.requires_digit, true),
  'requiresSymbol', coalesce(p.requires_symbol, true),
  'historyDepth', coalesce(p.history_depth, 0),
  'changeAtNextSignIn', coalesce(p.change_at_next_sign_in, false),
  'maximumAgeDays', coalesce(p.maximum_age_days, 0),
  'maximumAttempts', coalesce(l.maximum_attempts, 10), 'lockSeconds', l.lock_seconds,
  'untilUnlocked', coalesce(l.until_unlocked, false),
  'factorRequirement', coalesce(f.requirement, 'FACTOR_REQUIREMENT_OPTIONAL'))
from instance
  left join lateral (select q.* from password_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p on true
  left join lateral (select q.* from lockout_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) l on true
  left join lateral (select q.* from factor_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) f on true) as policy
           from asked left join login_names l on l.login_name = asked.login_name order by n;

-- appends: facts/user.human_created.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner is not null as "isSet", p.owner, 'password-policy' as id, minimum_length as "minimumLength", requires_upper as "requiresUpper", requires_lower as "requiresLower",
  requires_digit as "requiresDigit", requires_symbol as "requiresSymbol", history_depth as "historyDepth",
  change_at_next_sign_in as "changeAtNextSignIn", maximum_age_days as "maximumAgeDays",
  reset_requires_verified_email as "resetRequiresVerifiedEmail", e.version, p.created,
               e.time as changed
             from asked left join password_policies p on p.owner = asked.owner
             left join lateral (
               select e.version, e.time from events e
               where e.owner = asked.owner and e.stream = 'password-policy' order by e.version desc limit 1) e on true;

-- appends: facts/policy.password_set.sql

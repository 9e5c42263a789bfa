with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner, 'password-policy' as id, minimum_length as "minimumLength", requires_upper as "requiresUpper", requires_lower as "requiresLower",
  requires_digit as "requiresDigit", requires_symbol as "requiresSymbol", history_depth as "historyDepth",
  change_at_next_sign_in as "changeAtNextSignIn", maximum_age_days as "maximumAgeDays",
  reset_requires_verified_email as "resetRequiresVerifiedEmail", version, created, changed
             from asked cross join instance cross join lateral (select q.* from password_policies q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p;

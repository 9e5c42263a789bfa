with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"policy.password_set/0" as (insert into password_policies as p (owner, minimum_length, requires_upper, requires_lower, requires_digit,
         requires_symbol, history_depth, change_at_next_sign_in, maximum_age_days, reset_requires_verified_email, version,
         created, changed)
       select f.owner, (f.payload->>'minimumLength')::integer, (f.payload->>'requiresUpper')::boolean,
         (f.payload->>'requiresLower')::boolean, (f.payload->>'requiresDigit')::boolean,
         (f.payload->>'requiresSymbol')::boolean, (f.payload->>'historyDepth')::integer,
         coalesce((f.payload->>'changeAtNextSignIn')::boolean, false),
         coalesce((f.payload->>'maximumAgeDays')::integer, 0),
         coalesce((f.payload->>'resetRequiresVerifiedEmail')::boolean, false), f.version, f.time, f.time
       from (select * from facts where type = 'policy.password_set') f
       on conflict (owner) do update set minimum_length = excluded.minimum_length,
         requires_upper = excluded.requires_upper, requires_lower = excluded.requires_lower,
         requires_digit = excluded.requires_digit, requires_symbol = excluded.requires_symbol,
         history_depth = excluded.history_depth, change_at_next_sign_in = excluded.change_at_next_sign_in,
         maximum_age_days = excluded.maximum_age_days,
         reset_requires_verified_email = excluded.reset_requires_verified_email, version = excluded.version, changed = excluded.changed)
select 1;

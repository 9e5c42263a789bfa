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
"policy.lockout_set/0" as (insert into lockout_policies as l (owner, maximum_attempts, lock_seconds, until_unlocked, version, created, changed)
       select f.owner, (f.payload->>'maximumAttempts')::integer,
         rtrim(f.payload->>'lockDuration', 's')::double precision,
         coalesce((f.payload->>'untilUnlocked')::boolean, false), f.version, f.time, f.time
       from (select * from facts where type = 'policy.lockout_set') f
       on conflict (owner) do update set maximum_attempts = excluded.maximum_attempts,
         lock_seconds = excluded.lock_seconds, until_unlocked = excluded.until_unlocked, version = excluded.version, changed = excluded.changed)
select 1;

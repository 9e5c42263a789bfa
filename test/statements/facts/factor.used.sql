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
"factor.used/0" as (update factors t set last_used = f.time, version = f.version, changed = f.time
   from (select * from facts where type = 'factor.used') f where t.owner = f.owner and t.factor_id = f.stream),
"factor.used/1" as (insert into spent_challenges (challenge, expiration_date)
       select decode(i.secret->>'challenge', 'hex'), (i.secret->>'until')::timestamptz from (select * from input where type = 'factor.used') i),
"factor.used/2" as (delete from pending_sessions p using (select * from input where type = 'factor.used') i where p.challenge = decode(i.secret->>'challenge', 'hex')),
"factor.used/3" as (update factor_secrets s set last_step = (i.secret->>'step')::bigint from (select * from input where type = 'factor.used') i
       where s.factor_id = i.stream and i.secret->>'step' is not null),
"factor.used/4" as (delete from recovery_codes r using (select * from input where type = 'factor.used') i
       where r.factor_id = i.stream and r.mac = decode(i.secret->>'recoveryCode', 'hex')),
"factor.used/5" as (update passkeys p set counter = (i.secret->>'counter')::bigint from (select * from input where type = 'factor.used') i
       where p.factor_id = i.stream and i.secret->>'counter' is not null),
"factor.used/6" as (delete from factor_attempts a using (select * from input where type = 'factor.used') i
       where a.user_id = i.payload->>'userId' and i.secret->>'counter' is null)
select 1;

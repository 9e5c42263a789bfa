with given as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, time timestamptz)
),
asked as materialized (
  select n, payload->>'loginName' as login_name, case when (payload->>'idChosen')::boolean then stream end as user_id from given
),
found as materialized (
  select found.*, "takenBy" is null and not "idUsed" as holds
    from (select n, l.user_id as "takenBy", l.owner as "takenIn",
               asked.user_id is not null and exists (select from events e where e.stream = asked.user_id offset 0) as "idUsed" from asked left join login_names l on l.login_name = asked.login_name offset 0) found
),
input as materialized (
  select * from given where n = any(array(select n from found where holds))
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, time
),
"user.human_created/0" as (insert into users (owner, user_id, kind, username, given_name, family_name, email, phone, address, version,
         created, changed)
       select f.owner, f.stream, 'human', f.payload->>'username', f.payload->>'givenName', f.payload->>'familyName',
         f.payload->>'email', f.payload->>'phone', (
  select jsonb_object_agg(field.key, field.value) from jsonb_each_text(f.payload->'address') field where field.value <> ''), f.version, f.time, f.time from (select * from facts where type = 'user.human_created') f),
"user.human_created/1" as (insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from (select * from facts where type = 'user.human_created') f),
"user.human_created/2" as (insert into chosen_ids (id) select f.stream from (select * from facts where type = 'user.human_created') f where (f.payload->>'idChosen')::boolean),
"user.human_created/3" as (insert into passwords (user_id, owner, hash, changed, imported, set_by_administrator)
   select i.stream, i.owner, i.secret->>'hash', i.time, coalesce((i.secret->>'imported')::boolean, false),
     not coalesce((i.secret->>'imported')::boolean, false)
   from (select * from input where type = 'user.human_created') i where i.secret->>'hash' is not null),
"user.human_created/4" as (insert into phone_codes (phone_code_id, owner, user_id, phone, mac, sealed, expiration_date)
   select c.code->>'id', i.owner, i.stream, c.code->>'phone', decode(c.code->>'mac', 'hex'),
     decode(c.code->>'sealed', 'hex'), (c.code->>'expirationDate')::timestamptz
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code is not null
   on conflict (user_id) do update set phone_code_id = excluded.phone_code_id, phone = excluded.phone, mac = excluded.mac,
     sealed = excluded.sealed, attempts = 0, expiration_date = excluded.expiration_date),
"user.human_created/5" as (insert into phone_sends (phone, n, user_id, time)
   select c.code->>'phone', (c.code->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code->>'nth' is not null)
select * from found;

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
             from asked left join login_names l on l.login_name = asked.login_name;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text, phone text)
)
select n,
  (select s.time from phone_sends s
   where (s.user_id, s.time) between (asked.id, timestamptz '-infinity') and (asked.id, timestamptz 'infinity')
   order by s.user_id desc, s.time desc offset 9 limit 1) as "userLimit",
  (select s.time from phone_sends s where s.phone = asked.phone
   order by s.n desc offset 19 limit 1) as "numberLimit",
  (select coalesce(max(s.n), 0) + 1 from phone_sends s where s.phone = asked.phone) as nth from asked;

-- appends: facts/user.human_created.sql

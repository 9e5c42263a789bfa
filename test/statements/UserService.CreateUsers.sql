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
             where h.own_login_names and o.owner = asked.owner and o.login_name = asked.login_name) l on true order by n;

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
"factor.totp_added/0" as (
  insert into factors (owner, factor_id, user_id, kind, name, is_synced, version, created, changed)
  select f.owner, f.stream, f.payload->>'userId', 'totp', f.payload->>'name', false,
    f.version, f.time, f.time from (select * from facts where type = 'factor.totp_added') f),
"factor.totp_added/1" as (
  insert into factor_secrets (factor_id, user_id, sealed, last_step)
  select i.stream, i.payload->>'userId', decode(i.secret->>'sealed', 'hex'), (i.secret->>'step')::bigint from (select * from input where type = 'factor.totp_added') i
  on conflict (factor_id) do update set sealed = excluded.sealed),
"factor.totp_added/2" as (
  delete from factor_enrolments e using (select * from input where type = 'factor.totp_added') i where e.user_id = i.payload->>'userId' and e.kind = 'totp'),
"factor.totp_added/3" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = d.user_id), d.notice->>'language'),
     decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'factor.totp_added') i cross join lateral (select i.secret->'notice' as notice) m
  join users u on u.user_id = i.payload->>'userId' and u.email_verified
  where m.notice is not null and not exists (
      select from mail_sends s where (s.user_id, s.purpose, s.time)
        between (u.user_id, m.notice->>'kind', (m.notice->>'userSince')::timestamptz)
          and (u.user_id, m.notice->>'kind', timestamptz 'infinity')
      offset (m.notice->>'mostToUser')::integer - 1)
    and not exists (
      select from mail_sends s where s.email = lower(u.email) and s.purpose = m.notice->>'kind'
        and s.time > (m.notice->>'since')::timestamptz
      offset (m.notice->>'mostToAddress')::integer - 1)) d),
"factor.totp_added/4" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'factor.totp_added') i cross join lateral (select i.secret->'notice' as notice) m
  join users u on u.user_id = i.payload->>'userId' and u.email_verified
  where m.notice is not null and not exists (
      select from mail_sends s where (s.user_id, s.purpose, s.time)
        between (u.user_id, m.notice->>'kind', (m.notice->>'userSince')::timestamptz)
          and (u.user_id, m.notice->>'kind', timestamptz 'infinity')
      offset (m.notice->>'mostToUser')::integer - 1)
    and not exists (
      select from mail_sends s where s.email = lower(u.email) and s.purpose = m.notice->>'kind'
        and s.time > (m.notice->>'since')::timestamptz
      offset (m.notice->>'mostToAddress')::integer - 1)) d
   on conflict (email, purpose, n) do nothing),
"user.human_created/0" as (insert into users (owner, user_id, kind, username, given_name, family_name, email, email_verified, email_setter, proven_email, phone, address, language,
         requires_factor, active, own_login_name, version, created, changed)
       select f.owner, f.stream, 'human', f.payload->>'username', f.payload->>'givenName', f.payload->>'familyName',
         f.payload->>'email', coalesce((f.payload->>'emailVerified')::boolean, false), f.actor,
         case when (f.payload->>'byMail')::boolean then lower(f.payload->>'email') end, f.payload->>'phone',
         (
  select jsonb_object_agg(field.key, field.value) from jsonb_each_text(f.payload->'address') field where field.value <> ''), nullif(f.payload->>'language', ''), coalesce((f.payload->>'requiresFactor')::boolean, false), not coalesce((f.payload->>'inactive')::boolean, false),
         coalesce((f.payload->>'ownLoginName')::boolean, false), f.version, f.time, f.time from (select * from facts where type = 'user.human_created') f),
"user.human_created/1" as (insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from (select * from facts where type = 'user.human_created') f where f.payload->>'loginName' <> '' and not coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.human_created/2" as (insert into organization_login_names (owner, login_name, user_id, own)
  select f.owner, f.payload->>'loginName', f.stream, true from (select * from facts where type = 'user.human_created') f where f.payload->>'loginName' <> '' and coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.human_created/3" as (insert into chosen_ids (id) select f.stream from (select * from facts where type = 'user.human_created') f where (f.payload->>'idChosen')::boolean),
"user.human_created/4" as (insert into passwords (user_id, owner, hash, changed, imported, set_by_administrator, must_change)
   select i.stream, i.owner, i.secret->>'hash', i.time, coalesce((i.secret->>'imported')::boolean, false),
     not coalesce((i.secret->>'imported')::boolean, false) and not coalesce((i.secret->>'ownChoice')::boolean, false),
     coalesce((i.secret->>'mustChange')::boolean, false)
   from (select * from input where type = 'user.human_created') i where i.secret->>'hash' is not null),
"user.human_created/5" as (insert into phone_codes (phone_code_id, owner, user_id, phone, mac, sealed, expiration_date, creator_id)
   select c.code->>'id', i.owner, i.stream, c.code->>'phone', decode(c.code->>'mac', 'hex'),
     decode(c.code->>'sealed', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code is not null
   on conflict (user_id) do update set phone_code_id = excluded.phone_code_id, phone = excluded.phone, mac = excluded.mac,
     sealed = excluded.sealed, attempts = 0, expiration_date = excluded.expiration_date,
     creator_id = excluded.creator_id),
"user.human_created/6" as (insert into phone_sends (phone, n, user_id, time)
   select c.code->>'phone', (c.code->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code->>'nth' is not null),
"user.human_created/7" as (insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id, browser)
   select c.code->>'id', i.owner, i.stream, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor,
     decode(c.code->>'browser', 'hex')
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'mailCode' as code) c where c.code is not null
   on conflict (user_id) where purpose = 'email' do update set mail_code_id = excluded.mail_code_id,
     email = excluded.email, mail_id = excluded.mail_id, mac = excluded.mac, attempts = 0,
     expiration_date = excluded.expiration_date, creator_id = excluded.creator_id),
"user.human_created/8" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select m.mail->>'id', i.owner, i.stream, m.mail->>'kind', m.mail->>'email', coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = i.stream), m.mail->>'language'),
     decode(m.mail->>'sealed', 'hex'), (m.mail->>'expirationDate')::timestamptz, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null),
"user.human_created/9" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(m.mail->>'email'), m.mail->>'purpose', (m.mail->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null)
select 1;

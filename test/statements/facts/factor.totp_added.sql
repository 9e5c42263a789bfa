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
   on conflict (email, purpose, n) do nothing)
select 1;

insert into sign_in_failures as s (subject, failures, waits, wait_until, expiration_date)
values ($1, 1, $2, $3, $4)
on conflict (subject) do update set
  failures = case when s.failures + 1 >= $5 then 0 else s.failures + 1 end,
  waits = s.waits + (s.failures + 1 >= $6)::integer,
  wait_until = case when s.failures + 1 >= $7 then $8::timestamptz
    + least($9 * 2 ^ least(s.waits, 16), $10) * interval '1 second' end,
  expiration_date = excluded.expiration_date
where s.wait_until is null or s.wait_until <= $11
returning 1;

select wait_until as until from sign_in_failures where subject = $1 and wait_until > $2;

with proven as (
    select u.user_id, p.changed as since from users u left join passwords p using (user_id)
    where u.user_id = $1 and ($2::timestamptz is null or p.changed = $3)
      and ($4::text is null or exists (
        select from browser_sessions b where b.session_id = $5 and b.user_id = $6 offset 0))
  ),
  replaced as (
    delete from known_browsers where user_id = $7
      and hash in (select decode(value, 'hex') from unnest(string_to_array($8, ',')) as value)
    returning hash, expiration_date
  ),
  surplus as (
    delete from known_browsers where hash in (
      select hash from known_browsers where user_id = $9 order by created desc offset $10)
  ),
  remembered as (
    insert into known_browsers (hash, user_id, since, created, expiration_date)
    select decode($11, 'hex'), user_id, since, $12, $13 from proven
  ),
  told as (
    select 0 as n, u.owner, u.user_id as stream, $14::timestamptz as time,
      jsonb_build_object('notice', $15::text::jsonb) as secret
    from proven join users u using (user_id)
    where $16::text is not null and not exists (select from replaced where expiration_date > $17)
      and exists (select from known_browsers k where k.user_id = $18 offset 0)
  ),
  mailed as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
 select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, coalesce((
select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
  on l.language = split_part(u.language, '-', 1) where u.user_id = d.user_id), d.notice->>'language'),
   decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
 from (
select i.n, i.owner, i.time, u.user_id, u.email, m.notice
from told i cross join lateral (select i.secret->'notice' as notice) m
join users u on u.user_id = i.stream and u.email_verified
where m.notice is not null and not exists (
    select from mail_sends s where (s.user_id, s.purpose, s.time)
      between (u.user_id, m.notice->>'kind', (m.notice->>'userSince')::timestamptz)
        and (u.user_id, m.notice->>'kind', timestamptz 'infinity')
    offset (m.notice->>'mostToUser')::integer - 1)
  and not exists (
    select from mail_sends s where s.email = lower(u.email) and s.purpose = m.notice->>'kind'
      and s.time > (m.notice->>'since')::timestamptz
    offset (m.notice->>'mostToAddress')::integer - 1)) d),
  counted as (insert into mail_sends (email, purpose, n, user_id, time)
 select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
 from (
select i.n, i.owner, i.time, u.user_id, u.email, m.notice
from told i cross join lateral (select i.secret->'notice' as notice) m
join users u on u.user_id = i.stream and u.email_verified
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
  select coalesce((select array_agg(encode(hash, 'hex')) from replaced), '{}') as replaced,
    exists (select from replaced where expiration_date > $19) as "wasKnown";

update known_browsers set attempts = attempts + 1
where hash = decode($1, 'hex') and attempts < $2 returning attempts as attempt;

update known_browsers set attempts = attempts - 1 where hash = decode($1, 'hex') and attempts > 0;

update known_browsers set attempts = 0 where hash = decode($1, 'hex');

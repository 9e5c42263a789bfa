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
"user.email_changed/0" as (update users t set email = f.payload->>'email', email_verified = (f.payload->>'verified')::boolean, email_setter = f.actor,
  proven_email = case when t.proven_email = lower(f.payload->>'email') then t.proven_email end, version = f.version, changed = f.time
   from (select * from facts where type = 'user.email_changed') f where t.owner = f.owner and t.user_id = f.stream),
"user.email_changed/1" as (insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id, browser)
   select c.code->>'id', i.owner, i.stream, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor,
     decode(c.code->>'browser', 'hex')
   from (select * from input where type = 'user.email_changed') i cross join lateral (select i.secret->'mailCode' as code) c where c.code is not null
   on conflict (user_id) where purpose = 'email' do update set mail_code_id = excluded.mail_code_id,
     email = excluded.email, mail_id = excluded.mail_id, mac = excluded.mac, attempts = 0,
     expiration_date = excluded.expiration_date, creator_id = excluded.creator_id),
"user.email_changed/2" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select m.mail->>'id', i.owner, i.stream, m.mail->>'kind', m.mail->>'email', coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = i.stream), m.mail->>'language'),
     decode(m.mail->>'sealed', 'hex'), (m.mail->>'expirationDate')::timestamptz, i.time
   from (select * from input where type = 'user.email_changed') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null),
"user.email_changed/3" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(m.mail->>'email'), m.mail->>'purpose', (m.mail->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.email_changed') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null),
"user.email_changed/4" as (insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id)
   select c.undo->>'id', i.owner, i.stream, 'undo', c.undo->>'email', c.undo->>'id', decode(c.undo->>'mac', 'hex'),
     (c.undo->>'expirationDate')::timestamptz, coalesce(c.undo->>'creatorId', '')
   from (select * from input where type = 'user.email_changed') i cross join lateral (select i.secret->'undo' as undo) c where c.undo is not null),
"user.email_changed/5" as (delete from mail_codes c using (select * from input where type = 'user.email_changed') i where c.user_id = i.stream and c.purpose = 'undo' and i.secret->'endsUndo' is not null),
"user.email_changed/6" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = d.user_id), d.notice->>'language'),
     decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'user.email_changed') i cross join lateral (select i.secret->'notice' as notice) m
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
"user.email_changed/7" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'user.email_changed') i cross join lateral (select i.secret->'notice' as notice) m
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
   on conflict (email, purpose, n) do nothing),
"user.email_changed/8" as (delete from mail_codes c using (select * from facts where type = 'user.email_changed') f where c.user_id = f.stream and c.purpose in ('password', 'sign_in')),
"user.email_changed/9" as (delete from pending_sessions p using (select * from input where type = 'user.email_changed') i where p.user_id = i.stream and p.method = 'otp'),
"user.email_changed/10" as (delete from mail_codes c using (select * from input where type = 'user.email_changed') i
       where c.user_id = i.stream and c.purpose = 'email' and i.secret->'mailCode' is null)
select 1;

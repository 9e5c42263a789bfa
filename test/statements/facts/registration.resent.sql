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
"registration.resent/0" as (update registrations t set expiration_date = (f.payload->>'expirationDate')::timestamptz, version = f.version, changed = f.time
   from (select * from facts where type = 'registration.resent') f where t.owner = f.owner and t.registration_id = f.stream),
"registration.resent/1" as (insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id, browser)
   select c.code->>'id', i.owner, i.stream, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor,
     decode(c.code->>'browser', 'hex')
   from (select * from input where type = 'registration.resent') i cross join lateral (select i.secret->'mailCode' as code) c where c.code is not null
   on conflict (user_id) where purpose = 'email' do update set mail_code_id = excluded.mail_code_id,
     email = excluded.email, mail_id = excluded.mail_id, mac = excluded.mac, attempts = 0,
     expiration_date = excluded.expiration_date, creator_id = excluded.creator_id),
"registration.resent/2" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select m.mail->>'id', i.owner, i.stream, m.mail->>'kind', m.mail->>'email', coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = i.stream), m.mail->>'language'),
     decode(m.mail->>'sealed', 'hex'), (m.mail->>'expirationDate')::timestamptz, i.time
   from (select * from input where type = 'registration.resent') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null),
"registration.resent/3" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(m.mail->>'email'), m.mail->>'purpose', (m.mail->>'nth')::bigint, i.owner, i.time
   from (select * from input where type = 'registration.resent') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null)
select 1;

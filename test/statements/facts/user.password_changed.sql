with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.password_changed') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from (select * from input where type = 'user.password_changed') i join access_tokens t on t.user_id = i.stream where ((i.payload->>'byAdministrator')::boolean or (i.payload->>'byCode')::boolean) and t.token_id is distinct from i.payload->>'keepTokenId') c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
"user.password_changed/0" as (update users t set
  email_verified = t.email_verified or coalesce((f.payload->>'emailVerified')::boolean, false),
  proven_email = case when (f.payload->>'emailVerified')::boolean then lower(t.email) else t.proven_email end,
  locked = t.locked and (t.locked_until is null or not coalesce((f.payload->>'byCode')::boolean, false)),
  locked_until = case when not coalesce((f.payload->>'byCode')::boolean, false) then t.locked_until end, version = f.version, changed = f.time
   from (select * from facts where type = 'user.password_changed') f where t.owner = f.owner and t.user_id = f.stream),
"user.password_changed/1" as (
  update passwords p set hash = i.secret->>'hash', changed = i.time, imported = false, must_change = false, set_by_administrator = coalesce((i.payload->>'byAdministrator')::boolean, false), sign_ins = p.sign_ins + 1,
    user_id = case when p.sign_ins = q.sign_ins then p.user_id else 'came meanwhile' end
  from (select * from input where type = 'user.password_changed') i join passwords q on q.user_id = i.stream where p.user_id = i.stream),
"user.password_changed/2" as (insert into passwords (user_id, owner, hash, changed, set_by_administrator)
   select i.stream, i.owner, i.secret->>'hash', i.time, coalesce((i.payload->>'byAdministrator')::boolean, false) from (select * from input where type = 'user.password_changed') i
   where not exists (select from passwords q where q.user_id = i.stream)),
"user.password_changed/3" as (insert into password_history (user_id, hash, changed)
   select p.user_id, p.hash, p.changed from (select * from input where type = 'user.password_changed') i join passwords p on p.user_id = i.stream
   where (i.secret->>'depth')::integer > 0 on conflict do nothing),
"user.password_changed/4" as (delete from password_history h using (select * from input where type = 'user.password_changed') i
   where h.user_id = i.stream and h.changed not in (
     select k.changed from password_history k where k.user_id = i.stream
     order by k.changed desc limit greatest((i.secret->>'depth')::integer - 1, 0))),
"user.password_changed/5" as (delete from password_attempts a using (select * from facts where type = 'user.password_changed') f where a.user_id = f.stream),
"user.password_changed/6" as (delete from password_change_attempts a using (select * from facts where type = 'user.password_changed') f where a.user_id = f.stream),
"user.password_changed/7" as (delete from sign_in_failures s using (select * from facts where type = 'user.password_changed') f where s.subject = f.stream),
"user.password_changed/8" as (delete from mail_codes c using (select * from facts where type = 'user.password_changed') f where c.user_id = f.stream and c.purpose in ('password', 'sign_in', 'first_run', 'recovery')),
"user.password_changed/9" as (delete from browser_sessions b using (select * from input where type = 'user.password_changed') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'),
"user.password_changed/10" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = d.user_id), d.notice->>'language'),
     decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'user.password_changed') i cross join lateral (select i.secret->'notice' as notice) m
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
"user.password_changed/11" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'user.password_changed') i cross join lateral (select i.secret->'notice' as notice) m
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
select 1;

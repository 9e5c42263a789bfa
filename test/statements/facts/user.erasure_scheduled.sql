with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.erasure_scheduled') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from (select * from input where type = 'user.erasure_scheduled') i join access_tokens t on t.user_id = i.stream where true) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'machine_credential.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from (select * from input where type = 'user.erasure_scheduled') i join machine_credentials c on c.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_3 as (
  select c.owner, c.stream, c.version, 'user.erasure_scheduled' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (
    select i.n, i.owner, i.stream, i.version, i.payload
    from (select * from input where type = 'user.erasure_scheduled') i join members m on m.user_id = i.stream and (m.scope = 'instance' or m.owner = i.owner)
    where case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
      and not exists (
        select from organizations d join all_users x on x.user_id = m.user_id
        where d.deleted and d.organization_id in (m.owner, x.owner))
      and not exists (
      select from (
        select o.user_id from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) order by o.member_id for no key update
      ) owners where owners.user_id <> m.user_id)) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_3
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))))),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
"user.erasure_scheduled/0" as (update all_users u set deleted = true, erasure_date = (f.payload->>'erasureDate')::timestamptz, version = f.version, changed = f.time
   from (select * from facts where type = 'user.erasure_scheduled') f where u.owner = f.owner and u.user_id = f.stream),
"user.erasure_scheduled/1" as (
  update passwords p set sign_ins = p.sign_ins + 1,
    user_id = case when p.sign_ins = q.sign_ins then p.user_id else 'came meanwhile' end
  from (select * from input where type = 'user.erasure_scheduled') i join passwords q on q.user_id = i.stream where p.user_id = i.stream),
"user.erasure_scheduled/2" as (delete from phone_codes c using (select * from facts where type = 'user.erasure_scheduled') f where c.user_id = f.stream),
"user.erasure_scheduled/3" as (delete from mail_codes c using (select * from facts where type = 'user.erasure_scheduled') f where c.user_id = f.stream),
"user.erasure_scheduled/4" as (delete from browser_sessions b using (select * from input where type = 'user.erasure_scheduled') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'),
"user.erasure_scheduled/5" as (delete from mail_messages m using (select * from facts where type = 'user.erasure_scheduled') f where m.user_id = f.stream),
"user.erasure_scheduled/6" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = d.user_id), d.notice->>'language'),
     decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'user.erasure_scheduled') i cross join lateral (select i.secret->'notice' as notice) m
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
"user.erasure_scheduled/7" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from (select * from input where type = 'user.erasure_scheduled') i cross join lateral (select i.secret->'notice' as notice) m
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

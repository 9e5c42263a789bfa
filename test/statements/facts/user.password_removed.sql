with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.password_removed') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
"user.password_removed/0" as (update users t set version = f.version, changed = f.time
   from (select * from facts where type = 'user.password_removed') f where t.owner = f.owner and t.user_id = f.stream),
"user.password_removed/1" as (delete from passwords p using (select * from facts where type = 'user.password_removed') f where p.user_id = f.stream),
"user.password_removed/2" as (delete from password_attempts a using (select * from facts where type = 'user.password_removed') f where a.user_id = f.stream),
"user.password_removed/3" as (delete from password_change_attempts a using (select * from facts where type = 'user.password_removed') f where a.user_id = f.stream),
"user.password_removed/4" as (delete from sign_in_failures s using (select * from facts where type = 'user.password_removed') f where s.subject = f.stream),
"user.password_removed/5" as (delete from mail_codes c using (select * from facts where type = 'user.password_removed') f where c.user_id = f.stream and c.purpose in ('password', 'sign_in', 'first_run', 'recovery')),
"user.password_removed/6" as (delete from browser_sessions b using (select * from input where type = 'user.password_removed') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId')
select 1;

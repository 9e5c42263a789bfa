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
"session.created/0" as (insert into sessions (owner, session_id, user_id, expiration_date, amr, enrolment_only, origin, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz, case when jsonb_array_length(coalesce(f.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(f.payload->'amr')) end,
         coalesce((f.payload->>'enrolmentOnly')::boolean, false), f.origin, f.version, f.time, f.time from (select * from facts where type = 'session.created') f),
"session.created/1" as (insert into bearers (hash, owner, user_id, session_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from (select * from input where type = 'session.created') i where i.secret->>'hash' is not null),
"session.created/2" as (insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date,
         earlier_session_id)
       select i.stream, i.owner, i.payload->>'userId', decode(i.secret->>'cookie', 'hex'), i.time,
         case when jsonb_array_length(coalesce(i.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(i.payload->'amr')) end, (i.secret->>'idleDate')::timestamptz,
         (i.payload->>'expirationDate')::timestamptz,
         (select e.session_id from jsonb_array_elements_text(i.secret->'earlier') as value (hash)
          join browser_sessions e on e.hash = decode(value.hash, 'hex') and e.user_id = i.payload->>'userId'
          order by e.auth_time desc limit 1)
       from (select * from input where type = 'session.created') i where i.secret->>'cookie' is not null),
"session.created/3" as (insert into spent_challenges (challenge, expiration_date)
       select convert_to(i.secret->'usedCode'->>'id', 'utf8'), (i.secret->'usedCode'->>'until')::timestamptz
       from (select * from input where type = 'session.created') i where i.secret->'usedCode' is not null),
"session.created/4" as (delete from mail_codes c using (select * from input where type = 'session.created') i where c.mail_code_id = i.secret->'usedCode'->>'id'),
"session.created/5" as (update passwords p set sign_ins = p.sign_ins + 1, last_sign_in = checked.time, hash = coalesce(checked.rehashed, p.hash),
     imported = p.imported and checked.rehashed is null
   from (
     select q.user_id, i.time, i.secret->>'rehashed' as rehashed from (select * from input where type = 'session.created') i join passwords q on q.user_id = i.payload->>'userId'
     where q.changed::text = i.secret->>'since' order by q.user_id for update of q
   ) checked where p.user_id = checked.user_id),
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

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.email_restored') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from (select * from input where type = 'user.email_restored') i join access_tokens t on t.user_id = i.stream where true) c (n, owner, stream, version, payload) join input i using (n)
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
"user.email_restored/0" as (update users t set email = f.payload->>'email', email_verified = true, email_setter = null,
  proven_email = lower(f.payload->>'email'), version = f.version, changed = f.time
   from (select * from facts where type = 'user.email_restored') f where t.owner = f.owner and t.user_id = f.stream),
"user.email_restored/1" as (
  update passwords p set sign_ins = p.sign_ins + 1,
    user_id = case when p.sign_ins = q.sign_ins then p.user_id else 'came meanwhile' end
  from (select * from input where type = 'user.email_restored') i join passwords q on q.user_id = i.stream where p.user_id = i.stream),
"user.email_restored/2" as (delete from phone_codes c using (select * from facts where type = 'user.email_restored') f where c.user_id = f.stream),
"user.email_restored/3" as (delete from mail_codes c using (select * from input where type = 'user.email_restored') i
     where c.user_id = i.stream and (c.purpose <> 'undo' or c.mail_code_id >= i.secret->>'codeId')),
"user.email_restored/4" as (delete from pending_sessions t using (select * from facts where type = 'user.email_restored') f where t.user_id = f.stream),
"user.email_restored/5" as (delete from factor_enrolments t using (select * from facts where type = 'user.email_restored') f where t.user_id = f.stream),
"user.email_restored/6" as (delete from known_browsers t using (select * from facts where type = 'user.email_restored') f where t.user_id = f.stream),
"user.email_restored/7" as (delete from browser_sessions b using (select * from input where type = 'user.email_restored') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId')
select 1;

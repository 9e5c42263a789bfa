with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'sign_on.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
             'sessionId', s.session_id, 'reason', 'SIGN_ON_END_DISCONNECTED')
           from (select * from input where type = 'consent.withdrawn') i join sign_ons s on s.user_id = i.payload->>'userId' and s.app_id = i.payload->>'appId'
             and s.expiration_date > i.time
           join browser_sessions b on b.session_id = s.session_id) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"consent.withdrawn/0" as (delete from consents c using (select * from facts where type = 'consent.withdrawn') f where c.consent_id = f.stream),
"consent.withdrawn/1" as (delete from acting_machines a using (select * from facts where type = 'consent.withdrawn') f
       where a.user_id = f.payload->>'userId' and a.app_id = f.payload->>'appId'),
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream)
select 1;

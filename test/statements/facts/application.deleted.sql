with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'consent.withdrawn' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.consent_id, c.version + 1,
               jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
             from (select * from input where type = 'application.deleted') i  join consents c on c.app_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'sign_on.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
               'sessionId', s.session_id, 'reason', 'SIGN_ON_END_APPLICATION_DELETED')
             from (select * from input where type = 'application.deleted') i  join sign_ons s on s.app_id = i.stream and s.expiration_date > now()
             join browser_sessions b on b.session_id = s.session_id) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"application.deleted/0" as (delete from resource_uris r using (select * from facts where type = 'application.deleted') f where r.app_id = f.stream),
"application.deleted/1" as (delete from application_keys k using (select * from facts where type = 'application.deleted') f where k.app_id = f.stream),
"application.deleted/2" as (delete from applications a using (select * from facts where type = 'application.deleted') f where a.owner = f.owner and a.app_id = f.stream),
"application.deleted/3" as (delete from client_ids c using (select * from facts where type = 'application.deleted') f where c.owner = f.owner and c.app_id = f.stream),
"application.deleted/4" as (delete from consents c using (select * from facts where type = 'application.deleted') f
       where c.app_id = f.stream and not coalesce((f.payload->>'consentsFollow')::boolean, false)),
"application.deleted/5" as (delete from client_secrets s using (select * from facts where type = 'application.deleted') f where s.app_id = f.stream),
"consent.withdrawn/0" as (delete from consents c using (select * from facts where type = 'consent.withdrawn') f where c.consent_id = f.stream),
"consent.withdrawn/1" as (delete from acting_machines a using (select * from facts where type = 'consent.withdrawn') f
       where a.user_id = f.payload->>'userId' and a.app_id = f.payload->>'appId'),
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream)
select 1;

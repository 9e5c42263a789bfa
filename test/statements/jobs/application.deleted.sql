with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'consent.withdrawn'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, c.owner, c.consent_id, c.version + 1,
               jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i  join consents c on c.app_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
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
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'sign_on.ended'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
               'sessionId', s.session_id, 'reason', 'SIGN_ON_END_APPLICATION_DELETED')
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i  join sign_ons s on s.app_id = i.stream and s.expiration_date > now()
             join browser_sessions b on b.session_id = s.session_id) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with fact as (select $1::text as owner, $2::text as stream, $3::text::jsonb as payload)
update jobs set ended = $4::text::timestamptz where job_id = $5::text and ended is null;

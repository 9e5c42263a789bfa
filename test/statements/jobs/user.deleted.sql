with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'member.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on m.user_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'user_grant.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grants g on g.user_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'invitation.ended'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.recipient_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'session.ended'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join sessions s on s.user_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'access_token.revoked'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join access_tokens t on t.user_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.token_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'access_token.revoked') i cross join lateral (
             with recursive made as (
               select t.owner, t.token_id, t.version, t.user_id from access_tokens t
               where t.maker_id = i.stream and t.token_id is distinct from i.payload->>'successorId'
               union all
               select t.owner, t.token_id, t.version, t.user_id from made join access_tokens t on t.maker_id = made.token_id
             ) select * from made) m) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'machine_credential.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join machine_credentials c on c.user_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))))),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'consent.withdrawn'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, c.owner, c.consent_id, c.version + 1,
             jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join consents c on c.user_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
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

with fact as (select $1::text as owner, $2::text as stream, $3::text::jsonb as payload),
end_0 as (delete from factors t using fact f where t.user_id = f.stream),
end_1 as (delete from all_users u using fact f where u.owner = f.owner and u.user_id = f.stream),
end_2 as (delete from mail_messages m using fact f where m.user_id = f.stream),
end_3 as (delete from mail_sends t using fact f where t.user_id = f.stream),
end_4 as (delete from phone_sends t using fact f where t.user_id = f.stream),
end_5 as (delete from acting_machines t using fact f where t.user_id = f.stream),
end_6 as (delete from idempotency t using fact f where t.caller = f.stream),
end_7 as (update jobs j set origin = null from fact f where j.owner = f.owner and j.stream = f.stream and j.actor = f.stream)
update jobs set ended = $4::text::timestamptz where job_id = $5::text and ended is null;

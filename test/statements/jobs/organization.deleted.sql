with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'domain.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, d.owner, d.domain_id, d.version + 1, jsonb_build_object('name', d.name)
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join domains d on d.owner = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"domain.removed/0" as (delete from domains t using (select * from facts where type = 'domain.removed') f where t.owner = f.owner and t.domain_id = f.stream),
"domain.removed/1" as (delete from domain_checks t using (select * from facts where type = 'domain.removed') f where t.domain_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'invitation.withdrawn'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.owner = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.withdrawn/0" as (delete from invitations v using (select * from facts where type = 'invitation.withdrawn') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.withdrawn/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.withdrawn') f where a.invitation_id = f.stream),
"invitation.withdrawn/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.withdrawn') f where r.invitation_id = f.stream),
"invitation.withdrawn/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.withdrawn') f where c.user_id = f.stream and c.purpose = 'invitation'),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'invitation.ended'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitation_receivers r on r.receiver_id = i.stream join invitations v on v.invitation_id = r.invitation_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'registration.expired'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, r.owner, r.registration_id, r.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join registrations r on r.owner = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"registration.expired/0" as (delete from registrations r using (select * from facts where type = 'registration.expired') f where r.owner = f.owner and r.registration_id = f.stream),
"registration.expired/1" as (delete from registration_addresses a using (select * from facts where type = 'registration.expired') f where a.registration_id = f.stream),
"registration.expired/2" as (delete from mail_codes c using (select * from facts where type = 'registration.expired') f where c.user_id = f.stream and c.purpose = 'registration'),
"registration.expired/3" as (delete from mail_messages m using (select * from facts where type = 'registration.expired') f where m.user_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'subscription.deleted'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, s.owner, s.subscription_id, s.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join subscriptions s on s.owner = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"subscription.deleted/0" as (delete from subscriptions t using (select * from facts where type = 'subscription.deleted') f where t.owner = f.owner and t.subscription_id = f.stream),
"subscription.deleted/1" as (delete from subscription_secrets t using (select * from facts where type = 'subscription.deleted') f where t.subscription_id = f.stream),
"subscription.deleted/2" as (delete from subscription_deliveries t using (select * from facts where type = 'subscription.deleted') f where t.subscription_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'user_grant.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, r.owner, r.user_grant_id, r.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (
                   select * from user_grants r
                   where (r.owner, r.user_grant_id) > (i.stream, coalesce($10::text::jsonb->>1, '')) and r.owner <= i.stream
                   order by r.owner, r.user_grant_id limit $4::integer) r
                 order by r.owner, r.user_grant_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'user_grant.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from users where owner = i.stream order by user_id limit 200) u join user_grants g on g.user_id = u.user_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'member.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from users where owner = i.stream order by user_id limit 200) u join members m on m.user_id = u.user_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'session.ended'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from users where owner = i.stream order by user_id limit 200) u join sessions s on s.user_id = u.user_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from users where owner = i.stream order by user_id limit 200) u join access_tokens t on t.user_id = u.user_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from users where owner = i.stream order by user_id limit 200) u join machine_credentials c on c.user_id = u.user_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'user.deleted'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, u.owner, u.user_id, u.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from users where owner = i.stream order by user_id limit 200) u) c (n, owner, stream, version, payload) limit $4::integer) c
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.deleted') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from (select * from input where type = 'user.deleted') i join access_tokens t on t.user_id = i.stream where true) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'machine_credential.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from (select * from input where type = 'user.deleted') i join machine_credentials c on c.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_3 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'user.deleted') i join members m on m.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_4 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from (select * from input where type = 'user.deleted') i join user_grants g on g.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_5 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'user.deleted') i join invitations v on v.recipient_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_3
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_4
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_5
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))))),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
"user.deleted/0" as (delete from all_users u using (select * from facts where type = 'user.deleted') f where u.owner = f.owner and u.user_id = f.stream),
"user.deleted/1" as (delete from login_names t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/2" as (delete from factors t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/3" as (delete from consents t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/4" as (delete from ended_roles t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/5" as (delete from user_metadata t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/6" as (delete from machine_client_ids t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/7" as (delete from machine_delegations t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/8" as (delete from organization_login_names t using (select * from facts where type = 'user.deleted') f
   where t.owner = f.owner and t.user_id = f.stream and t.own),
"user.deleted/9" as (delete from passwords t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/10" as (delete from password_history t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/11" as (delete from password_attempts a using (select * from facts where type = 'user.deleted') f where a.user_id = f.stream),
"user.deleted/12" as (delete from password_change_attempts a using (select * from facts where type = 'user.deleted') f where a.user_id = f.stream),
"user.deleted/13" as (delete from sign_in_failures s using (select * from facts where type = 'user.deleted') f where s.subject = f.stream),
"user.deleted/14" as (delete from phone_codes c using (select * from facts where type = 'user.deleted') f where c.user_id = f.stream),
"user.deleted/15" as (delete from mail_codes c using (select * from facts where type = 'user.deleted') f where c.user_id = f.stream),
"user.deleted/16" as (delete from factor_secrets t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/17" as (delete from recovery_codes t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/18" as (delete from passkeys t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/19" as (delete from factor_enrolments t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/20" as (delete from pending_sessions t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/21" as (delete from factor_attempts t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/22" as (delete from known_browsers t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/23" as (delete from acting_machines t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/24" as (delete from browser_sessions b using (select * from input where type = 'user.deleted') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream),
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
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join applications a on a.project_id = p.project_id join consents c on c.app_id = a.app_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join applications a on a.project_id = p.project_id join sign_ons s on s.app_id = a.app_id and s.expiration_date > now()
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

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'application.deleted'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, a.owner, a.app_id, a.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join applications a on a.project_id = p.project_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'user_grant.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join user_grants g on g.project_id = p.project_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'member.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join members m on m.project_id = p.project_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'project_grant.revoked'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join project_grants g on g.project_id = p.project_id) c (n, owner, stream, version, payload) limit $4::integer) c
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project_grant.revoked') i join user_grants g on g.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from (select * from input where type = 'project_grant.revoked') i join members m on m.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project_grant.revoked') i join invitations v on v.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"project_grant.revoked/0" as (delete from all_project_grants g using (select * from facts where type = 'project_grant.revoked') f where g.owner = f.owner and g.project_grant_id = f.stream),
"project_grant.revoked/1" as (delete from all_project_grant_roles r using (select * from facts where type = 'project_grant.revoked') f where r.project_grant_id = f.stream),
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
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p join invitations v on v.project_id = p.project_id) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'project.deleted'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, p.owner, p.project_id, p.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (select * from projects where owner = i.stream order by project_id limit 20) p) c (n, owner, stream, version, payload) limit $4::integer) c
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'consent.withdrawn' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.consent_id, c.version + 1,
               jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
             from (select * from input where type = 'project.deleted') i join applications a on a.project_id = i.stream join consents c on c.app_id = a.app_id) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'sign_on.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
               'sessionId', s.session_id, 'reason', 'SIGN_ON_END_APPLICATION_DELETED')
             from (select * from input where type = 'project.deleted') i join applications a on a.project_id = i.stream join sign_ons s on s.app_id = a.app_id and s.expiration_date > now()
             join browser_sessions b on b.session_id = s.session_id) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'application.deleted' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, a.owner, a.app_id, a.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project.deleted') i join applications a on a.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_3 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, r.owner, r.user_grant_id, r.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project.deleted') i join user_grants r on r.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_4 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from (select * from input where type = 'project.deleted') i join members m on m.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_5 as (
  select c.owner, c.stream, c.version, 'project_grant.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project.deleted') i join project_grants g on g.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_6 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project.deleted') i join invitations v on v.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_3
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_4
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_5
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_6
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
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"project.deleted/0" as (delete from all_projects p using (select * from facts where type = 'project.deleted') f where p.owner = f.owner and p.project_id = f.stream),
"project.deleted/1" as (delete from all_project_roles r using (select * from facts where type = 'project.deleted') f where r.project_id = f.stream),
"project_grant.revoked/0" as (delete from all_project_grants g using (select * from facts where type = 'project_grant.revoked') f where g.owner = f.owner and g.project_grant_id = f.stream),
"project_grant.revoked/1" as (delete from all_project_grant_roles r using (select * from facts where type = 'project_grant.revoked') f where r.project_grant_id = f.stream),
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'project_grant.revoked'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join project_grants g on g.granted_organization_id = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project_grant.revoked') i join user_grants g on g.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from (select * from input where type = 'project_grant.revoked') i join members m on m.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project_grant.revoked') i join invitations v on v.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"project_grant.revoked/0" as (delete from all_project_grants g using (select * from facts where type = 'project_grant.revoked') f where g.owner = f.owner and g.project_grant_id = f.stream),
"project_grant.revoked/1" as (delete from all_project_grant_roles r using (select * from facts where type = 'project_grant.revoked') f where r.project_grant_id = f.stream),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'member.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on m.owner = i.stream) c (n, owner, stream, version, payload) limit $4::integer) c
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
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'organization.purged'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, o.organization_id, o.organization_id, o.version + 1, jsonb_build_object()
             from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join organizations o on o.organization_id = i.stream and o.deleted
             where not exists (select from all_users u where u.owner = i.stream)
               and not exists (select from all_projects p where p.owner = i.stream)
               and not exists (select from all_project_grants g where g.granted_organization_id = i.stream)
               and not exists (select from members m where m.owner = i.stream)
               and not exists (select from subscriptions s where s.owner = i.stream)
               and not exists (select from domains d where d.owner = i.stream)
               and not exists (select from invitations v where v.owner = i.stream)
               and not exists (select from invitation_receivers r where r.receiver_id = i.stream)
               and not exists (select from registrations r where r.owner = i.stream)) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"organization.purged/0" as (delete from password_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/1" as (delete from lockout_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/2" as (delete from factor_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/3" as (delete from privacy_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/4" as (delete from registration_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/5" as (delete from sign_in_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/6" as (delete from brandings b using (select * from facts where type = 'organization.purged') f where b.owner = f.stream),
"organization.purged/7" as (delete from ended_roles e using (select * from facts where type = 'organization.purged') f where e.organization_id = f.stream),
"organization.purged/8" as (delete from organizations o using (select * from facts where type = 'organization.purged') f where o.organization_id = f.stream),
"organization.purged/9" as (delete from branding_logos l using (select * from facts where type = 'organization.purged') f where l.owner = f.stream),
"organization.purged/10" as (delete from branding_favicons l using (select * from facts where type = 'organization.purged') f where l.owner = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with fact as (select $1::text as owner, $2::text as stream, $3::text::jsonb as payload)
update jobs set ended = $4::text::timestamptz where job_id = $5::text and ended is null;

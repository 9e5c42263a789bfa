with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'user_grant.role_removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
                 from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i cross join lateral (
                   select * from user_grant_roles r
                   where ((r.project_id collate "C"), (r.role_key collate "C"), (r.owner collate "C"), (r.user_grant_id collate "C")) > (i.stream, i.payload->>'key', coalesce($10::text::jsonb->>0, ''), coalesce($10::text::jsonb->>1, '')) and ((r.project_id collate "C"), (r.role_key collate "C")) <= (i.stream, i.payload->>'key')
                   order by (r.project_id collate "C"), (r.role_key collate "C"), (r.owner collate "C"), (r.user_grant_id collate "C") limit $4::integer) r
                 cross join lateral (select * from user_grants where user_grant_id = r.user_grant_id offset 0) g
                 order by (r.project_id collate "C"), (r.role_key collate "C"), (r.owner collate "C"), (r.user_grant_id collate "C")) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"user_grant.role_removed/0" as (update user_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'user_grant.role_removed') f where t.owner = f.owner and t.user_grant_id = f.stream),
"user_grant.role_removed/1" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.role_removed') f
       where r.user_grant_id = f.stream and r.role_key = f.payload->>'key'),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'project_grant.role_removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
                 from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i
                 join project_grant_roles r on r.project_id = i.stream and r.role_key = i.payload->>'key'
                 join project_grants g on g.project_grant_id = r.project_grant_id) c (n, owner, stream, version, payload) limit $4::integer) c
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"project_grant.role_removed/0" as (delete from project_grant_roles r using (select * from facts where type = 'project_grant.role_removed') f
       where r.project_grant_id = f.stream and r.role_key = f.payload->>'key'),
"project_grant.role_removed/1" as (update project_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'project_grant.role_removed') f where t.owner = f.owner and t.project_grant_id = f.stream),
progress as (update jobs set written = written + (select count(*) from input), went_on = now() where job_id = $8::text)
select count(*)::integer as count,
  (select json_build_array(owner, stream)::text from input order by n desc limit 1) as after from input;

with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'invitation.ended'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.project_id = i.stream
                   and coalesce(v.project_grant, v.grants->0)->'roleKeys' ? (i.payload->>'key')) c (n, owner, stream, version, payload) limit $4::integer) c
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

with fact as (select $1::text as owner, $2::text as stream, $3::text::jsonb as payload),
end_0 as (delete from all_project_roles r using fact f
       where r.project_id = f.stream and r.role_key = f.payload->>'key')
update jobs set ended = $4::text::timestamptz where job_id = $5::text and ended is null;

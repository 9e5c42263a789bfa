with input as materialized (
  select (row_number() over () - 1)::integer as n, c.owner, c.stream, c.version, 'member.removed'::text as type, c.payload,
    null::jsonb as secret, $5::text as actor, $6::text as request_id, $9::text::jsonb as origin,
    $7::text::timestamptz as time
  from (
    select * from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' and (m.user_id collate "C") = i.stream and (m.owner collate "C") = i.payload->>'organizationId' and m.scope <> 'instance' and m.scope <> 'organization') c (n, owner, stream, version, payload) limit $4::integer) c
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
           from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grants g on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_USER_GRANT' and (g.user_id collate "C") = i.stream and (g.owner collate "C") = i.payload->>'organizationId') c (n, owner, stream, version, payload) limit $4::integer) c
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

with fact as (select $1::text as owner, $2::text as stream, $3::text::jsonb as payload)
update jobs set ended = $4::text::timestamptz where job_id = $5::text and ended is null;

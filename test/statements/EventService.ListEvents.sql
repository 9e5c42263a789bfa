select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $2 as "isLast"
    from (
select * from events where
owner = $3
 and true and true
  and true
order by time desc, events.position desc limit $4) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $5;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $2 as "isLast"
    from (
select * from events where
owner = $3
 and true and true
  and (time, events.position) < ($4, $5::bigint)
order by time desc, events.position desc limit $6) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $7;

select from events where owner = $1 and stream = $2 limit 1;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
and stream = $2
and actor = $3
and type = any($4), false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $5 as "isLast"
    from (
select * from events where
owner = $6
 and time >= $7 and time < $8
  and true
order by time desc, events.position desc limit $9) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $10;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
true
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $1 as "isLast"
    from (
select * from events where
true
 and true and true
  and true
order by time desc, events.position desc limit $2) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $3;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
and actor = $2
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $3 as "isLast"
    from (
select * from events where
owner = $4
 and true and true
  and true
order by time desc, events.position desc limit $5) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $6;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
and about_user_id = $2
and project_id = $3
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $4 as "isLast"
    from (
select * from events where
owner = $5
 and true and true
  and true
order by time desc, events.position desc limit $6) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $7;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
and actor = $2
and about_user_id = $3 and type = $4
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $5 as "isLast"
    from (
select * from events where
owner = $6
 and true and true
  and true
order by time desc, events.position desc limit $7) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $8;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
and type = any($2), false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $3 as "isLast"
    from (
select events.* from unnest($4::text[]) of_type cross join lateral (
  select * from events where owner = $5 and type = of_type and true and true
  and true
  order by time desc, events.position desc limit $6) events
order by time desc, events.position desc limit $7) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $8;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isMatch", "isLast" from (
    select *, coalesce(
owner = $1
and stream = $2
and project_id = $3
, false) as "isMatch",
      row_number() over (order by time desc, events.position desc) = $4 as "isLast"
    from (
select * from events where
owner = $5
 and true and true
  and true
order by time desc, events.position desc limit $6) events
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  where "isMatch" or "isLast" order by time desc, events.position desc limit $7;

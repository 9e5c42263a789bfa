select
epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time,
case when is_settled(events.epoch, events.xid) then '{}'
  else array(select x::text from pg_snapshot_xip(pg_current_snapshot()) x where x < events.xid) end as open from events
where
owner = $1
  and true and true
  and true
order by time desc, events.position desc limit $2;

select
epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time,
case when is_settled(events.epoch, events.xid) then '{}'
  else array(select x::text from pg_snapshot_xip(pg_current_snapshot()) x where x < events.xid) end as open from events
where
owner = $1
  and true and true
  and (time, events.position) < ($2, $3::bigint)
order by time desc, events.position desc limit $4;

select
epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time,
case when is_settled(events.epoch, events.xid) then '{}'
  else array(select x::text from pg_snapshot_xip(pg_current_snapshot()) x where x < events.xid) end as open from events
where
owner = $1
and stream = $2
and actor = $3
and type = any($4)
  and time >= $5 and time < $6
  and true
order by time desc, events.position desc limit $7;

select
epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time,
case when is_settled(events.epoch, events.xid) then '{}'
  else array(select x::text from pg_snapshot_xip(pg_current_snapshot()) x where x < events.xid) end as open from events
where
true
  and true and true
  and true
order by time desc, events.position desc limit $1;

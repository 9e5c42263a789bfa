select epoch, xid::text as xid, position from events
where is_settled(events.epoch, events.xid) order by events.epoch desc, events.xid desc, events.position desc limit 1;

select exists (select from events
where (events.epoch, events.xid, events.position) >= ($1::integer, $2::text::xid8, $3::bigint)) as reached;

select epoch, xid::text as xid, position from events
where (events.epoch, events.xid, events.position) > ($1::integer, $2::text::xid8, $3::bigint) and is_settled(events.epoch, events.xid)
order by events.epoch, events.xid, events.position offset $4 limit 1;

select
epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time from (
  select * from events
  where (events.epoch, events.xid, events.position) > ($1::integer, $2::text::xid8, $3::bigint)
    and is_settled(events.epoch, events.xid)
  order by events.epoch, events.xid, events.position limit $4
) events
where
owner = $5
order by events.epoch, events.xid, events.position limit $6;

select
epoch, xid::text as xid, position, owner, stream, version, type, payload, actor, request_id as "requestId", time from (
  select * from events
  where (events.epoch, events.xid, events.position) > ($1::integer, $2::text::xid8, $3::bigint)
    and (events.epoch, events.xid, events.position) <= ($4::integer, $5::text::xid8, $6::bigint)
  order by events.epoch, events.xid, events.position limit $7
) events
where
owner = $8
order by events.epoch, events.xid, events.position limit $9;

select number_events(true) as numbered;

select last as number, id as batch from event_batches order by first desc limit 1;

select coalesce((select case when b.last >= $1 then b.id = $2 else pg_is_in_recovery() end
from event_batches b where b.first <= $3 order by b.first desc limit 1), false) as held;

select numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, "isLast"
  from (
    select least(last, next.number + $1::bigint) as number, last < next.number + $2::bigint as "isLast"
    from (select last from event_batches order by first desc limit 1) b cross join lateral (
      select coalesce((select number from event_numbers where number > $3 order by number limit 1), last) as number) next
  ) numbered;

select numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, events.*
from (
  select * from event_numbers where number > $1 and number <= $2
  order by number
) numbered cross join lateral (
  select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, about_user_id, project_id from events
  where events.epoch = numbered.epoch and events.xid = numbered.xid and events.position = numbered.position offset 0
) events
where
owner = $3
 order by numbered.number limit $4;

select true as held;

select exists (select from events where (events.epoch, events.xid, events.position) >= ($1, $2::text::xid8, $3))
  or exists (select from event_batches b where (b.epoch, pg_snapshot_xmax(b.snapshot)) > ($4, $5::text::xid8)) as "isReached",
least(
  (select b.first from event_batches b where (b.epoch, pg_snapshot_xmax(b.snapshot)) > ($6, $7::text::xid8)
   order by b.epoch, pg_snapshot_xmax(b.snapshot), b.first limit 1),
  (select min(n.number) from unnest($8::text[]::xid8[]) as open (xid) cross join lateral (
     select events.position from events where events.epoch = $9 and events.xid = open.xid offset 0) e
   join event_numbers n on n.position = e.position)
) as number;

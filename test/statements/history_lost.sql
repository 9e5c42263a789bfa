select coalesce((select case when b.last >= $1 then b.id = $2 else pg_is_in_recovery() end
from event_batches b where b.first <= $3 order by b.first desc limit 1), false) as held;

select last as number, id as batch from event_batches order by first desc limit 1;

select numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch
  from (
    select * from event_numbers where number > $1 and number <= $2 order by number desc
  ) numbered cross join lateral (
    select owner, stream, actor, about_user_id, project_id, type from events
    where events.epoch = numbered.epoch and events.xid = numbered.xid and events.position = numbered.position offset 0
  ) events
  where
owner = $3
 order by numbered.number desc limit $4;

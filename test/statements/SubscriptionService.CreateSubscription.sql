select from subscriptions where owner = $1 offset $2 limit 1;

select number_events(true) as numbered;

select last as number, id as batch from event_batches order by first desc limit 1;

-- appends: facts/subscription.created.sql

select true as held;

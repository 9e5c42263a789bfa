select s.subscription_id as id, s.owner, s.url, s.types, s.instance, s.paused, s.version, s.created, s.changed,
case when d.due = 'infinity' and d.dead is null and not s.paused then e.last else d.number end as number,
case when d.due = 'infinity' and d.dead is null and not s.paused then e.id else d.batch end as batch,
case when d.due < 'infinity' and d.dead is null then d.due end as due, d.attempts, d.failure,
d.failing_since as "failingSince", d.dead is not null as "isDead", c.previous_end as "previousEnd" from subscriptions s join subscription_deliveries d on d.subscription_id = s.subscription_id
join subscription_secrets c on c.subscription_id = s.subscription_id
cross join (select last, id from event_batches order by first desc limit 1) e
where s.owner = $1 and true
order by s.subscription_id desc limit $2;

select s.subscription_id as id, s.owner, s.url, s.types, s.instance, s.paused, s.version, s.created, s.changed,
case when d.due = 'infinity' and d.dead is null and not s.paused then e.last else d.number end as number,
case when d.due = 'infinity' and d.dead is null and not s.paused then e.id else d.batch end as batch,
case when d.due < 'infinity' and d.dead is null then d.due end as due, d.attempts, d.failure,
d.failing_since as "failingSince", d.dead is not null as "isDead", c.previous_end as "previousEnd" from subscriptions s join subscription_deliveries d on d.subscription_id = s.subscription_id
join subscription_secrets c on c.subscription_id = s.subscription_id
cross join (select last, id from event_batches order by first desc limit 1) e
where s.owner = $1 and s.subscription_id < $2
order by s.subscription_id desc limit $3;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, s.subscription_id as id, s.owner, s.url, s.types, s.instance, s.paused, s.version, s.created, s.changed,
  case when d.due = 'infinity' and d.dead is null and not s.paused then e.last else d.number end as number,
  case when d.due = 'infinity' and d.dead is null and not s.paused then e.id else d.batch end as batch,
  case when d.due < 'infinity' and d.dead is null then d.due end as due, d.attempts, d.failure,
  d.failing_since as "failingSince", d.dead is not null as "isDead", c.previous_end as "previousEnd" from asked
             join subscriptions s on s.owner = asked.owner and s.subscription_id = asked.id join subscription_deliveries d on d.subscription_id = s.subscription_id
  join subscription_secrets c on c.subscription_id = s.subscription_id
  cross join (select last, id from event_batches order by first desc limit 1) e;

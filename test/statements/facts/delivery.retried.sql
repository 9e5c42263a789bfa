with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"delivery.retried/0" as (
  update mail_messages m set dead = null, due = now(), attempts = 0, failure = null, retries = i.version, retried = i.time
  from (select * from input where type = 'delivery.retried') i where m.mail_id = i.stream and m.dead is not null),
"delivery.retried/1" as (
  update sms_messages m set dead = null, due = now(), attempts = 0, failure = null, retries = i.version, retried = i.time
  from (select * from input where type = 'delivery.retried') i where m.phone_code_id = i.stream and m.dead is not null),
"delivery.retried/2" as (
  update logout_messages m set dead = null, due = now(), attempts = 0, failure = null, retries = i.version, retried = i.time
  from (select * from input where type = 'delivery.retried') i where m.message_id = i.stream and m.dead is not null)
select 1;

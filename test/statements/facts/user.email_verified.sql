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
"user.email_verified/0" as (update users t set email_verified = true,
  proven_email = case when (f.payload->>'byMail')::boolean then lower(t.email) else t.proven_email end, version = f.version, changed = f.time
   from (select * from facts where type = 'user.email_verified') f where t.owner = f.owner and t.user_id = f.stream),
"user.email_verified/1" as (delete from mail_codes c using (select * from facts where type = 'user.email_verified') f where c.user_id = f.stream and c.purpose in ('email'))
select 1;

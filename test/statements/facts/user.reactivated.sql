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
"user.reactivated/0" as (update users t set active = true, version = f.version, changed = f.time
   from (select * from facts where type = 'user.reactivated') f where t.owner = f.owner and t.user_id = f.stream),
"user.reactivated/1" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select c.credential_id from (select * from facts where type = 'user.reactivated') f join machine_credentials c on c.user_id = f.stream))))),
"user.reactivated/2" as (delete from exchanged_tokens t using (select * from facts where type = 'user.reactivated') f where t.user_id = f.stream)
select 1;

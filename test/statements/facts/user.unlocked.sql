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
"user.unlocked/0" as (update users t set locked = false, locked_until = null, version = f.version, changed = f.time
   from (select * from facts where type = 'user.unlocked') f where t.owner = f.owner and t.user_id = f.stream),
"user.unlocked/1" as (delete from password_attempts a using (select * from facts where type = 'user.unlocked') f where a.user_id = f.stream),
"user.unlocked/2" as (delete from password_change_attempts a using (select * from facts where type = 'user.unlocked') f where a.user_id = f.stream),
"user.unlocked/3" as (delete from sign_in_failures s using (select * from facts where type = 'user.unlocked') f where s.subject = f.stream),
"user.unlocked/4" as (delete from factor_attempts a using (select * from facts where type = 'user.unlocked') f where a.user_id = f.stream)
select 1;

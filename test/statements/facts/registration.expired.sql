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
"registration.expired/0" as (delete from registrations r using (select * from facts where type = 'registration.expired') f where r.owner = f.owner and r.registration_id = f.stream),
"registration.expired/1" as (delete from registration_addresses a using (select * from facts where type = 'registration.expired') f where a.registration_id = f.stream),
"registration.expired/2" as (delete from mail_codes c using (select * from facts where type = 'registration.expired') f where c.user_id = f.stream and c.purpose = 'registration'),
"registration.expired/3" as (delete from mail_messages m using (select * from facts where type = 'registration.expired') f where m.user_id = f.stream)
select 1;

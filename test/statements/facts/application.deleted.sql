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
"application.deleted/0" as (delete from application_keys k using (select * from facts where type = 'application.deleted') f where k.app_id = f.stream),
"application.deleted/1" as (delete from consents c using (select * from facts where type = 'application.deleted') f where c.app_id = f.stream),
"application.deleted/2" as (delete from applications a using (select * from facts where type = 'application.deleted') f where a.owner = f.owner and a.app_id = f.stream),
"application.deleted/3" as (delete from client_ids c using (select * from facts where type = 'application.deleted') f where c.owner = f.owner and c.app_id = f.stream),
"application.deleted/4" as (delete from client_secrets s using (select * from facts where type = 'application.deleted') f where s.app_id = f.stream),
"application.deleted/5" as (delete from sign_ons s using (select * from facts where type = 'application.deleted') f where s.app_id = f.stream)
select 1;

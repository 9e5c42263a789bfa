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
"user_grant.added/0" as (insert into user_grants (owner, user_grant_id, user_id, project_id, project_grant_id, expiration_date, version, created,
         changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->>'projectId', f.payload->>'projectGrantId',
         (f.payload->>'expirationDate')::timestamptz, f.version, f.time, f.time
       from (select * from facts where type = 'user_grant.added') f),
"user_grant.added/1" as (insert into user_grant_roles (owner, user_grant_id, project_id, project_grant_id, role_key)
       select f.owner, f.stream, f.payload->>'projectId', f.payload->>'projectGrantId', k.role_key
       from (select * from facts where type = 'user_grant.added') f cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key))
select 1;

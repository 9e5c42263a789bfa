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
"user_grant.changed/0" as (update user_grants t set version = f.version, changed = f.time
   from (select * from facts where type = 'user_grant.changed') f where t.owner = f.owner and t.user_grant_id = f.stream),
"user_grant.changed/1" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.changed') f
       where r.user_grant_id = f.stream and not f.payload->'roleKeys' ? r.role_key),
"user_grant.changed/2" as (insert into user_grant_roles (owner, user_grant_id, project_id, project_grant_id, role_key)
       select g.owner, g.user_grant_id, g.project_id, g.project_grant_id, k.role_key
       from (select * from facts where type = 'user_grant.changed') f join user_grants g on g.owner = f.owner and g.user_grant_id = f.stream
       cross join jsonb_array_elements_text(f.payload->'roleKeys') k (role_key)
       on conflict (user_grant_id, role_key) do nothing)
select 1;

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
"user.delegation_set/0" as (update users t set version = f.version, changed = f.time
   from (select * from facts where type = 'user.delegation_set') f where t.owner = f.owner and t.user_id = f.stream),
"user.delegation_set/1" as (insert into machine_delegations as d (user_id, owner, served, targets)
       select f.stream, f.owner, coalesce(f.payload->'servedResources', '[]'), coalesce(f.payload->'targetResources', '[]') from (select * from facts where type = 'user.delegation_set') f
       on conflict (user_id) do update set served = excluded.served, targets = excluded.targets)
select 1;

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
"user.metadata_set/0" as (update users t set version = f.version, changed = f.time
   from (select * from facts where type = 'user.metadata_set') f where t.owner = f.owner and t.user_id = f.stream),
"user.metadata_set/1" as (insert into user_metadata (owner, user_id, key, value, shared)
   select f.owner, f.stream, e.key, e.value, coalesce(e.shared, false) from (select * from facts where type = 'user.metadata_set') f cross join lateral jsonb_to_recordset(f.payload->'metadata'->'entries') as e (key text, value text, shared boolean) where e.value is not null
   on conflict (user_id, key) do update set value = excluded.value, shared = excluded.shared),
"user.metadata_set/2" as (delete from user_metadata t using (
     select f.stream, e.key from (select * from facts where type = 'user.metadata_set') f cross join lateral jsonb_to_recordset(f.payload->'metadata'->'entries') as e (key text, value text, shared boolean) where e.value is null
   ) removed where t.user_id = removed.stream and t.key = removed.key)
select 1;

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
"policy.registration_set/0" as (insert into registration_policies as p (owner, audience, version, created, changed)
       select f.owner, f.payload->>'audience', f.version, f.time, f.time from (select * from facts where type = 'policy.registration_set') f
       on conflict (owner) do update set audience = excluded.audience, version = excluded.version, changed = excluded.changed)
select 1;

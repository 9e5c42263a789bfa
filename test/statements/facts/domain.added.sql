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
"domain.added/0" as (insert into domains (owner, domain_id, name, token, proven, without_dns, verified, proven_since, version, created, changed)
       select f.owner, f.stream, f.payload->>'name', f.payload->>'token', (f.payload->>'withoutDns')::boolean, (f.payload->>'withoutDns')::boolean,
         case when (f.payload->>'withoutDns')::boolean then f.time end, case when (f.payload->>'withoutDns')::boolean then f.time end, f.version, f.time, f.time
       from (select * from facts where type = 'domain.added') f),
"domain.added/1" as (insert into domain_checks (domain_id, owner, due)
       select i.stream, i.owner,
         case when (i.payload->>'withoutDns')::boolean then 'infinity' else now() + make_interval(secs => (i.secret->>'seconds')::float8) end
       from (select * from input where type = 'domain.added') i)
select 1;

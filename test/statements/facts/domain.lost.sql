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
"domain.lost/0" as (update domains t set proven = false, missing_since = null, proven_since = null, version = f.version, changed = f.time
   from (select * from facts where type = 'domain.lost') f where t.owner = f.owner and t.domain_id = f.stream),
"domain.lost/1" as (
  update domain_checks c set lease = c.lease + 1, due = now() + make_interval(secs => (i.secret->>'seconds')::float8),
    checked = now(), result = i.secret->>'result', answer = i.secret->>'answer'
  from (select * from input where type = 'domain.lost') i where c.domain_id = i.stream and i.secret is not null)
select 1;

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
"consent.given/0" as (insert into consents as c (owner, consent_id, user_id, app_id, scopes, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->>'appId',
         array(select jsonb_array_elements_text(f.payload->'scopes')), f.version, f.time, f.time from (select * from facts where type = 'consent.given') f
       on conflict (consent_id) do update
         set scopes = excluded.scopes, version = excluded.version, changed = excluded.changed)
select 1;

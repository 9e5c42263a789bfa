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
"session.unrestricted/0" as (update sessions t set amr = case when jsonb_array_length(coalesce(f.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(f.payload->'amr')) end, enrolment_only = false, version = f.version, changed = f.time
   from (select * from facts where type = 'session.unrestricted') f where t.owner = f.owner and t.session_id = f.stream),
"session.unrestricted/1" as (update browser_sessions b set methods = case when jsonb_array_length(coalesce(i.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(i.payload->'amr')) end from (select * from input where type = 'session.unrestricted') i where b.session_id = i.stream)
select 1;

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, time
),
"factor.totp_added/0" as (
  insert into factors (owner, factor_id, user_id, kind, name, is_synced, version, created, changed)
  select f.owner, f.stream, f.payload->>'userId', 'totp', f.payload->>'name', false,
    f.version, f.time, f.time from (select * from facts where type = 'factor.totp_added') f),
"factor.totp_added/1" as (
  insert into factor_secrets (factor_id, user_id, sealed, last_step)
  select i.stream, i.payload->>'userId', decode(i.secret->>'sealed', 'hex'), (i.secret->>'step')::bigint from (select * from input where type = 'factor.totp_added') i
  on conflict (factor_id) do update set sealed = excluded.sealed),
"factor.totp_added/2" as (
  delete from factor_enrolments e using (select * from input where type = 'factor.totp_added') i where e.user_id = i.payload->>'userId' and e.kind = 'totp'),
"session.unrestricted/0" as (update sessions t set amr = case when jsonb_array_length(coalesce(f.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(f.payload->'amr')) end, enrolment_only = false, version = f.version, changed = f.time
   from (select * from facts where type = 'session.unrestricted') f where t.owner = f.owner and t.session_id = f.stream),
"session.unrestricted/1" as (update browser_sessions b set methods = case when jsonb_array_length(coalesce(i.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(i.payload->'amr')) end from (select * from input where type = 'session.unrestricted') i where b.session_id = i.stream)
select 1;

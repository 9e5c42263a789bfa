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
"factor.enrolment_started/0" as (insert into factor_enrolments (user_id, kind, session_id, factor_id, sealed, expiration_date)
       select i.payload->>'userId', i.secret->>'kind', i.secret->>'sessionId', i.stream,
         decode(i.secret->>'sealed', 'hex'), (i.secret->>'until')::timestamptz from (select * from input where type = 'factor.enrolment_started') i
       on conflict (user_id, kind) do update set session_id = excluded.session_id, factor_id = excluded.factor_id,
         sealed = excluded.sealed, expiration_date = excluded.expiration_date)
select 1;

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
"access_token.created/0" as (insert into access_tokens (owner, token_id, user_id, expiration_date, name, permissions, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz,
         coalesce(f.payload->>'name', ''), array(select jsonb_array_elements_text(f.payload->'permissions')),
         f.version, f.time, f.time from (select * from facts where type = 'access_token.created') f),
"access_token.created/1" as (insert into bearers (hash, owner, user_id, token_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from (select * from input where type = 'access_token.created') i)
select 1;

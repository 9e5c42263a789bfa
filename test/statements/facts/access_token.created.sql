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
"access_token.created/0" as (insert into access_tokens (owner, token_id, user_id, expiration_date, name, permissions, maker_id, creator_id, version,
         created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz,
         coalesce(f.payload->>'name', ''), array(select jsonb_array_elements_text(f.payload->'permissions')),
         f.payload->>'makerId', f.payload->>'creatorId', f.version, f.time, f.time from (select * from facts where type = 'access_token.created') f),
"access_token.created/1" as (insert into bearers (hash, owner, user_id, token_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from (select * from input where type = 'access_token.created') i),
"access_token.created/2" as (
  update passwords p set sign_ins = p.sign_ins + 1
  from (
    select q.user_id from (select * from input where type = 'access_token.created') i join passwords q on q.user_id = i.payload->>'userId'
    where (i.secret->>'isOfSession')::boolean order by q.user_id for update of q
  ) made where p.user_id = made.user_id)
select 1;

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
"signing_key.added/0" as (insert into signing_keys (kid, algorithm, version, public_key, sealed, signs_from)
       select i.payload->>'kid', i.stream, i.version, i.secret->'publicKey', decode(i.secret->>'sealed', 'hex'),
         (i.payload->>'signsFrom')::timestamptz from (select * from input where type = 'signing_key.added') i),
"signing_key.added/1" as (update signing_keys k set withdrawn = i.time from (select * from input where type = 'signing_key.added') i
       where k.algorithm = i.stream and k.version < i.version and k.withdrawn is null
         and (i.payload->>'withdrawsOthers')::boolean)
select 1;

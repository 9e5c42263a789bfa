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
"machine_credential.created/0" as (insert into machine_credentials (owner, credential_id, user_id, kid, jwk, access_token_type, expiration_date, creator_id,
         version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->'publicKey'->>'kid', f.payload->'publicKey',
         coalesce(f.payload->>'accessTokenType', 'OIDC_TOKEN_TYPE_BEARER'), (f.payload->>'expirationDate')::timestamptz, f.actor,
         f.version, f.time, f.time from (select * from facts where type = 'machine_credential.created') f),
"machine_credential.created/1" as (insert into machine_proofs (credential_id, hash) select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'machine_credential.created') i)
select 1;

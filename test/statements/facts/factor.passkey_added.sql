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
"factor.passkey_added/0" as (
  insert into factors (owner, factor_id, user_id, kind, name, is_synced, version, created, changed)
  select f.owner, f.stream, f.payload->>'userId', 'passkey', f.payload->>'name', (f.payload->>'isSynced')::boolean,
    f.version, f.time, f.time from (select * from facts where type = 'factor.passkey_added') f),
"factor.passkey_added/1" as (insert into passkeys (factor_id, user_id, credential_id, public_key, user_handle, counter, transports, host)
       select i.stream, i.payload->>'userId', decode(i.secret->>'id', 'hex'), decode(i.secret->>'publicKey', 'hex'),
         decode(i.secret->>'handle', 'hex'), (i.secret->>'counter')::bigint,
         array(select jsonb_array_elements_text(i.secret->'transports')), i.secret->>'host' from (select * from input where type = 'factor.passkey_added') i),
"factor.passkey_added/2" as (
  delete from factor_enrolments e using (select * from input where type = 'factor.passkey_added') i where e.user_id = i.payload->>'userId' and e.kind = 'passkey')
select 1;

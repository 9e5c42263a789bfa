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
"machine_credential.token_revoked/0" as (update machine_credentials t set version = f.version, changed = f.time
   from (select * from facts where type = 'machine_credential.token_revoked') f where t.owner = f.owner and t.credential_id = f.stream),
"machine_credential.token_revoked/1" as (delete from machine_tokens where hash = any(array(
  select decode(i.secret->>'hash', 'hex') from (select * from facts where type = 'machine_credential.token_revoked') f join (select * from input where type = 'machine_credential.token_revoked') i on i.stream = f.stream)))
select 1;

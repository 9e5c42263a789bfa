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
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f)))))
select 1;

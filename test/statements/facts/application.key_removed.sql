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
"application.key_removed/0" as (delete from application_keys k using (select * from facts where type = 'application.key_removed') f where k.app_id = f.stream and k.key_id = f.payload->>'keyId'),
"application.key_removed/1" as (update applications t set compliance_problems = case when t.oidc->>'authMethodType' = 'OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT'
    and not exists (select from application_keys k where k.app_id = f.stream and k.key_id <> f.payload->>'keyId')
    then t.compliance_problems || '{PRIVATE_KEY_JWT_WITHOUT_KEY}'::text[] else t.compliance_problems end, compliance_version = case when t.compliance_version = t.version then f.version else t.compliance_version end, version = f.version, changed = f.time
   from (select * from facts where type = 'application.key_removed') f where t.owner = f.owner and t.app_id = f.stream)
select 1;

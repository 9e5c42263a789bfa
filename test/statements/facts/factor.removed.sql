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
"factor.removed/0" as (delete from factors t using (select * from facts where type = 'factor.removed') f where t.factor_id = f.stream),
"factor.removed/1" as (delete from factor_secrets t using (select * from facts where type = 'factor.removed') f where t.factor_id = f.stream),
"factor.removed/2" as (delete from recovery_codes t using (select * from facts where type = 'factor.removed') f where t.factor_id = f.stream),
"factor.removed/3" as (delete from passkeys t using (select * from facts where type = 'factor.removed') f where t.factor_id = f.stream)
select 1;

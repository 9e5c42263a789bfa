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
"application.client_secret_rotated/0" as (update applications t set compliance_version = case when t.compliance_version = t.version then f.version else t.compliance_version end, version = f.version, changed = f.time
   from (select * from facts where type = 'application.client_secret_rotated') f where t.owner = f.owner and t.app_id = f.stream),
"application.client_secret_rotated/1" as (delete from client_secrets s using (select * from input where type = 'application.client_secret_rotated') i
       where s.app_id = i.stream and (s.expiration_date is not null or (i.payload->>'previousSecretExpirationDate')::timestamptz <= i.time)),
"application.client_secret_rotated/2" as (update client_secrets s set expiration_date = (i.payload->>'previousSecretExpirationDate')::timestamptz from (select * from input where type = 'application.client_secret_rotated') i
       where s.app_id = i.stream and s.expiration_date is null and (i.payload->>'previousSecretExpirationDate')::timestamptz > i.time),
"application.client_secret_rotated/3" as (insert into client_secrets (app_id, hash) select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'application.client_secret_rotated') i)
select 1;

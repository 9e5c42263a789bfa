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
"organization.purged/0" as (delete from password_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/1" as (delete from lockout_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/2" as (delete from factor_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/3" as (delete from privacy_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/4" as (delete from registration_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/5" as (delete from sign_in_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/6" as (delete from brandings b using (select * from facts where type = 'organization.purged') f where b.owner = f.stream),
"organization.purged/7" as (delete from ended_roles e using (select * from facts where type = 'organization.purged') f where e.organization_id = f.stream),
"organization.purged/8" as (delete from organizations o using (select * from facts where type = 'organization.purged') f where o.organization_id = f.stream),
"organization.purged/9" as (delete from branding_logos l using (select * from facts where type = 'organization.purged') f where l.owner = f.stream),
"organization.purged/10" as (delete from branding_favicons l using (select * from facts where type = 'organization.purged') f where l.owner = f.stream)
select 1;

with gone as (
  delete from sessions where session_id in (
    select session_id from sessions where expiration_date >= $1 and expiration_date <= $2
    order by expiration_date limit $3 for update skip locked)
  returning session_id, expiration_date
),
theirs as (delete from bearers b using gone where b.session_id = gone.session_id)
select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
  delete from bearers where (hash) in (
    select hash from bearers where expiration_date >= $1 and expiration_date <= $2 and true
    order by expiration_date limit $3 for update skip locked)
  returning expiration_date
)
select count(*)::int as count, max(expiration_date) as last from gone;

delete from phone_sends where (phone, n) in (
select phone, n from phone_sends where time < $1 order by time limit $2 for update skip locked);

delete from mail_sends where (email, purpose, n) in (
select email, purpose, n from mail_sends where time < $1 order by time limit $2 for update skip locked);

delete from password_reset_requests where request_id in (
select request_id from password_reset_requests where created < now() - interval '10 minutes'
limit $1 for update skip locked);

delete from factor_enrolments where (user_id, kind) in (
select user_id, kind from factor_enrolments where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

delete from pending_sessions where mac in (
select mac from pending_sessions where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

delete from spent_challenges where challenge in (
select challenge from spent_challenges where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

delete from known_browsers where hash in (
select hash from known_browsers where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

delete from sign_in_failures where subject in (
select subject from sign_in_failures where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

delete from mail_codes where mail_code_id in (
select mail_code_id from mail_codes where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

select u.user_id as id, u.owner, u.version, u.created, u.changed
from organizations d join users u on u.owner = d.organization_id where d.deleted limit $1;

select p.project_id as id, p.owner, p.version, p.created, p.changed
from organizations d join projects p on p.owner = d.organization_id where d.deleted limit $1;

select g.project_grant_id as id, g.owner, g.version, g.created, g.changed
from organizations d join project_grants g on g.granted_organization_id = d.organization_id
where d.deleted limit $1;

select m.member_id as id, m.owner, m.version, m.created, m.changed
from organizations d join members m on m.owner = d.organization_id where d.deleted limit $1;

select d.organization_id as id, d.organization_id as owner, d.version, d.created, d.changed
from organizations d where d.deleted
  and not exists (select from users u where u.owner = d.organization_id)
  and not exists (select from projects p where p.owner = d.organization_id)
  and not exists (select from project_grants g where g.granted_organization_id = d.organization_id)
  and not exists (select from members m where m.owner = d.organization_id)
limit $1;

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
"organization.purged/0" as (delete from password_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/1" as (delete from lockout_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/2" as (delete from factor_policies p using (select * from facts where type = 'organization.purged') f where p.owner = f.stream),
"organization.purged/3" as (delete from brandings b using (select * from facts where type = 'organization.purged') f where b.owner = f.stream),
"organization.purged/4" as (delete from ended_roles e using (select * from facts where type = 'organization.purged') f where e.organization_id = f.stream),
"organization.purged/5" as (delete from organizations o using (select * from facts where type = 'organization.purged') f where o.organization_id = f.stream),
"organization.purged/6" as (delete from branding_logos l using (select * from facts where type = 'organization.purged') f where l.owner = f.stream)
select 1;

select factor_id as id, sealed from factor_secrets
where encode(substring(sealed from 1 for 5), 'hex') = any(string_to_array($1, ',')) limit $2;

update factor_secrets set sealed = $1 where factor_id = $2 and sealed = $3;

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

delete from attempt_places where (minute, key) in (
select minute, key from attempt_places where minute < $1 order by minute limit $2 for update skip locked);

delete from mail_codes where mail_code_id in (
select mail_code_id from mail_codes where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

with gone as (
  delete from jobs where (job_id) in (
    select job_id from jobs where ended >= $1 and ended <= $2 and true
    order by ended limit $3 for update skip locked)
  returning ended
)
select count(*)::int as count, max(ended) as last from gone;

select u.owner, u.user_id as id, u.version, u.created, u.changed, e.actor, e.request_id as "requestId"
from (
  (select * from all_users where erasure_date is not null and erasure_date <= $1 order by erasure_date limit $2)
  union
  (select u.* from organizations o join all_users u on u.owner = o.organization_id and u.erasure_date is not null
   where o.deleted limit $3)
) u join events e on e.owner = u.owner and e.stream = u.user_id and e.version = u.version
limit $4;

select v.owner, v.invitation_id as id, v.version, v.created, v.changed from invitations v
where v.expiration_date < $1 order by v.expiration_date limit $2;

select r.owner, r.registration_id as id, r.version, r.created, r.changed from registrations r
where r.expiration_date < $1 order by r.expiration_date limit $2;

select a.app_id as id, a.version, a.oidc, a.is_api as "isApi",
  exists (select from application_keys k where k.app_id = a.app_id) as "hasKey"
from applications a where a.compliance_version is distinct from a.version order by a.app_id limit $1;

with written as materialized (
  select a.app_id, j.problems
  from jsonb_to_recordset($1::text::jsonb) as j (id text, version bigint, problems jsonb)
  join applications a on a.app_id = j.id and a.version = j.version
  order by a.app_id for update of a skip locked
)
update applications a set compliance_version = a.version,
  compliance_problems = array(select jsonb_array_elements_text(w.problems))
from written w where a.app_id = w.app_id;

insert into jobs (job_id, owner, type, stream, version, payload, actor, request_id, created)
select o.organization_id, e.owner, e.type, e.stream, e.version, e.payload, e.actor, e.request_id, e.time
from organizations o join events e
  on e.owner = o.organization_id and e.stream = o.organization_id and e.version = o.version
where o.deleted and e.type = 'organization.deleted'
  and not exists (select from jobs j
    where j.owner = o.organization_id and j.stream = o.organization_id and j.type = 'organization.deleted');

select factor_id as id, sealed from factor_secrets where factor_id > $1 order by factor_id limit $2;

update factor_secrets f set sealed = decode(again.sealed, 'hex')
from jsonb_to_recordset($1::text::jsonb) as again (id text, before text, sealed text)
where f.factor_id = again.id and f.sealed = decode(again.before, 'hex');

select subscription_id as id, sealed, previous from subscription_secrets
where encode(substring(sealed from 1 for 5), 'hex') = any(string_to_array($1, ','))
  or encode(substring(previous from 1 for 5), 'hex') = any(string_to_array($2, ',')) limit $3;

update subscription_secrets set sealed = $1, previous = $2
where subscription_id = $3 and sealed = $4;

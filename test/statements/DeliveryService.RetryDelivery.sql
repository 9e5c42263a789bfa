select * from ((select 1 as kind, m.mail_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", case when m.kind not in ('organization_invitation', 'registration', 'registration_known') then m.user_id end as "userId", null::text as "appId", m.kind as "mailKind", m.email as address,
  m.expiration_date as expiration, case when m.sealed is null then m.kind in ('password_changed', 'factor_added', 'factor_removed', 'email_replaced', 'new_device', 'account_deleted')
  else m.kind = 'registration_known' or exists (select from mail_codes c where c.mail_id = m.mail_id) end as "isKept", case when m.kind in ('organization_invitation', 'registration', 'registration_known') then ''
  else (select u.username from all_users u
    where u.user_id = m.user_id and (not u.deleted or u.erasure_date is not null)) end is not null as "isWanted"
from mail_messages m where m.mail_id = $1) union all (select 2 as kind, m.phone_code_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", null::text as "appId", null::text as "mailKind", c.phone as address,
  c.expiration_date as expiration, c.sealed is not null as "isKept", true as "isWanted"
from sms_messages m left join phone_codes c on c.phone_code_id = m.phone_code_id where m.phone_code_id = $2) union all (select 3 as kind, m.message_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", m.app_id as "appId", null::text as "mailKind", null::text as address,
  null::timestamptz as expiration, true as "isKept", exists (
  select from applications a where a.app_id = m.app_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> '') as "isWanted"
from logout_messages m where m.message_id = $3)) d where true;

-- appends: facts/delivery.retried.sql

select * from ((select 1 as kind, m.mail_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", case when m.kind not in ('organization_invitation', 'registration', 'registration_known') then m.user_id end as "userId", null::text as "appId", m.kind as "mailKind", m.email as address,
  m.expiration_date as expiration, case when m.sealed is null then m.kind in ('password_changed', 'factor_added', 'factor_removed', 'email_replaced', 'new_device', 'account_deleted')
  else m.kind = 'registration_known' or exists (select from mail_codes c where c.mail_id = m.mail_id) end as "isKept", case when m.kind in ('organization_invitation', 'registration', 'registration_known') then ''
  else (select u.username from all_users u
    where u.user_id = m.user_id and (not u.deleted or u.erasure_date is not null)) end is not null as "isWanted"
from mail_messages m where m.mail_id = $1) union all (select 2 as kind, m.phone_code_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", null::text as "appId", null::text as "mailKind", c.phone as address,
  c.expiration_date as expiration, c.sealed is not null as "isKept", true as "isWanted"
from sms_messages m left join phone_codes c on c.phone_code_id = m.phone_code_id where m.phone_code_id = $2) union all (select 3 as kind, m.message_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", m.app_id as "appId", null::text as "mailKind", null::text as address,
  null::timestamptz as expiration, true as "isKept", exists (
  select from applications a where a.app_id = m.app_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> '') as "isWanted"
from logout_messages m where m.message_id = $3)) d where owner = $4;

select * from ((select 1 as kind, m.mail_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", case when m.kind not in ('organization_invitation', 'registration', 'registration_known') then m.user_id end as "userId", null::text as "appId", m.kind as "mailKind", m.email as address,
  m.expiration_date as expiration, case when m.sealed is null then m.kind in ('password_changed', 'factor_added', 'factor_removed', 'email_replaced', 'new_device', 'account_deleted')
  else m.kind = 'registration_known' or exists (select from mail_codes c where c.mail_id = m.mail_id) end as "isKept", case when m.kind in ('organization_invitation', 'registration', 'registration_known') then ''
  else (select u.username from all_users u
    where u.user_id = m.user_id and (not u.deleted or u.erasure_date is not null)) end is not null as "isWanted"
from mail_messages m where m.dead is not null and (m.owner, m.dead, m.mail_id) < ($1, timestamptz 'infinity', $2) and (m.owner, m.dead) >= ($3, timestamptz '-infinity')
      order by m.owner desc, m.dead desc, m.mail_id desc limit $4) union all (select 2 as kind, m.phone_code_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", null::text as "appId", null::text as "mailKind", c.phone as address,
  c.expiration_date as expiration, c.sealed is not null as "isKept", true as "isWanted"
from sms_messages m left join phone_codes c on c.phone_code_id = m.phone_code_id where m.dead is not null and (m.owner, m.dead, m.phone_code_id) < ($5, timestamptz 'infinity', $6) and (m.owner, m.dead) >= ($7, timestamptz '-infinity')
      order by m.owner desc, m.dead desc, m.phone_code_id desc limit $8) union all (select 3 as kind, m.message_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", m.app_id as "appId", null::text as "mailKind", null::text as address,
  null::timestamptz as expiration, true as "isKept", exists (
  select from applications a where a.app_id = m.app_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> '') as "isWanted"
from logout_messages m where m.dead is not null and (m.owner, m.dead, m.message_id) < ($9, timestamptz 'infinity', $10) and (m.owner, m.dead) >= ($11, timestamptz '-infinity')
      order by m.owner desc, m.dead desc, m.message_id desc limit $12)) d order by dead desc, id desc limit $13;

select * from ((select 1 as kind, m.mail_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", case when m.kind not in ('organization_invitation', 'registration', 'registration_known') then m.user_id end as "userId", null::text as "appId", m.kind as "mailKind", m.email as address,
  m.expiration_date as expiration, case when m.sealed is null then m.kind in ('password_changed', 'factor_added', 'factor_removed', 'email_replaced', 'new_device', 'account_deleted')
  else m.kind = 'registration_known' or exists (select from mail_codes c where c.mail_id = m.mail_id) end as "isKept", case when m.kind in ('organization_invitation', 'registration', 'registration_known') then ''
  else (select u.username from all_users u
    where u.user_id = m.user_id and (not u.deleted or u.erasure_date is not null)) end is not null as "isWanted"
from mail_messages m where m.dead is not null and (m.owner, m.dead, m.mail_id) < ($1, timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3) and (m.owner, m.dead) >= ($4, timestamptz '-infinity')
      order by m.owner desc, m.dead desc, m.mail_id desc limit $5) union all (select 2 as kind, m.phone_code_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", null::text as "appId", null::text as "mailKind", c.phone as address,
  c.expiration_date as expiration, c.sealed is not null as "isKept", true as "isWanted"
from sms_messages m left join phone_codes c on c.phone_code_id = m.phone_code_id where m.dead is not null and (m.owner, m.dead, m.phone_code_id) < ($6, timestamptz 'epoch' + $7::bigint * interval '1 microsecond', $8) and (m.owner, m.dead) >= ($9, timestamptz '-infinity')
      order by m.owner desc, m.dead desc, m.phone_code_id desc limit $10) union all (select 3 as kind, m.message_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", m.app_id as "appId", null::text as "mailKind", null::text as address,
  null::timestamptz as expiration, true as "isKept", exists (
  select from applications a where a.app_id = m.app_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> '') as "isWanted"
from logout_messages m where m.dead is not null and (m.owner, m.dead, m.message_id) < ($11, timestamptz 'epoch' + $12::bigint * interval '1 microsecond', $13) and (m.owner, m.dead) >= ($14, timestamptz '-infinity')
      order by m.owner desc, m.dead desc, m.message_id desc limit $15)) d order by dead desc, id desc limit $16;

select * from ((select 2 as kind, m.phone_code_id as id, m.owner, m.created, m.dead, m.attempts, m.failure, m.retries, m.retried,
  (extract(epoch from m.dead) * 1000000)::bigint::text as "deadAt", m.user_id as "userId", null::text as "appId", null::text as "mailKind", c.phone as address,
  c.expiration_date as expiration, c.sealed is not null as "isKept", true as "isWanted"
from sms_messages m left join phone_codes c on c.phone_code_id = m.phone_code_id where m.dead is not null and (m.dead, m.phone_code_id) < (timestamptz 'infinity', $1) order by m.dead desc, m.phone_code_id desc limit $2)) d order by dead desc, id desc limit $3;

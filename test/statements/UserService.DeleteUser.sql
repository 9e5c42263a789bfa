with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
  u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed, exists (
  select from members m where m.user_id = u.user_id and (m.scope = 'instance' or m.owner = u.owner) and case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
    and not exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and o.user_id <> m.user_id)) as "lastOwner"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select count(*) > 1000 or false as "isTooMuch" from ((select from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on m.user_id = i.stream) c limit 1001) union all (select from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grants g on g.user_id = i.stream) c limit 1001) union all (select from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.recipient_id = i.stream) c limit 1001) union all (select from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join sessions s on s.user_id = i.stream) c limit 1001) union all (select from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join access_tokens t on t.user_id = i.stream) c limit 1001) union all (select from (select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join machine_credentials c on c.user_id = i.stream) c limit 1001) union all (select from (select i.n, c.owner, c.consent_id, c.version + 1,
  jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join consents c on c.user_id = i.stream) c limit 1001)) found;

-- appends: facts/user.deleted.sql

select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed from all_users u where u.owner = $1 and u.user_id = $2 limit $3 offset $4;

select p.changed, p.last_sign_in as "lastSignIn", p.must_change as "mustChange",
  (select count(*) from password_history h where h.user_id = p.user_id)::integer as earlier
from passwords p where p.user_id = $1 limit $2 offset $3;

select email as address, purpose, expiration_date as expires from mail_codes
where user_id = $1 and expiration_date > $2
union all
select phone, 'phone', expiration_date from phone_codes where user_id = $3 and expiration_date > $4
order by purpose, expires limit $5 offset $6;

select f.factor_id as id, f.owner, f.user_id as "userId", f.kind, f.name, f.is_synced as "isSynced",
f.last_used as "lastUsed", f.version, f.created, f.changed,
(select count(*) from recovery_codes r where r.factor_id = f.factor_id)::integer as "codesLeft" from factors f where f.user_id = $1 order by f.factor_id limit $2 offset $3;

select t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
t.name, t.permissions, t.maker_id as "makerId", coalesce(t.creator_id, (
  select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1)) as "creatorId", t.version, t.created, t.changed, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
from access_tokens t left join bearers b on b.token_id = t.token_id
where t.user_id = $1 and true
order by t.token_id desc limit $2;

select s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed, s.origin, coalesce(b.last_used, w.last_used) as "lastUsed",
  coalesce(b.last_used_origin, w.last_used_origin) as "lastUsedOrigin"
from sessions s left join bearers b on b.session_id = s.session_id left join browser_sessions w on w.session_id = s.session_id
where s.user_id = $1 and s.expiration_date > $2
  and true
order by s.session_id desc limit $3;

select o.sign_on_id as id, o.app_id as "appId", o.session_id as "sessionId", o.scope, o.created,
  o.expiration_date as expires, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
from sign_ons o left join browser_sessions b on b.session_id = o.session_id
where o.user_id = $1 and true
order by o.app_id, o.sign_on_id limit $2;

with recursive used (app_id) as (
  select $1::text
  union all
  select n.app_id from used k cross join lateral (select least(
    (select o.app_id from sign_ons o
    where (o.user_id, o.app_id) > ($2, k.app_id) and o.user_id <= $3 and o.expiration_date > $4
    order by o.user_id, o.app_id limit 1),
    (select m.app_id from acting_machines m
    where (m.user_id, m.app_id) > ($5, k.app_id) and m.user_id <= $6 and m.expiration_date > $7
    order by m.user_id, m.app_id limit 1)) as app_id) n
  where n.app_id is not null
),
page (app_id) as materialized (
  select app_id from (
    select app_id from (
      select c.app_id from consents c
      where c.user_id = $8 and c.app_id > $9
        and exists (select from applications a where a.app_id = c.app_id offset 0)
      order by c.app_id limit $10) c
    union
    select app_id from used k
    where k.app_id > $11 and exists (select from applications a where a.app_id = k.app_id offset 0)
  ) k order by app_id limit $12
)
select k.app_id as "appId", a.name, a.owner as "organizationId", a.organization_name as "organizationName",
  c.scopes, c.changed as "consentDate", s.last as "lastSignInDate",
  f.first is not null as "isOffline", f.first as "offlineSinceDate", acting.machines as "actingMachines"
from page k
cross join lateral (
  select a.name, a.owner, h.name as organization_name
  from applications a join organizations h on h.organization_id = a.owner where a.app_id = k.app_id offset 0) a
left join lateral (
  select c.scopes, c.changed from consents c where c.user_id = $13 and c.app_id = k.app_id offset 0) c on true
left join lateral (
  select l.created as last from (
    select o.user_id, o.app_id, o.created from sign_ons o
    where (o.user_id, o.app_id) <= ($14, k.app_id) and o.expiration_date > $15
    order by o.user_id desc, o.app_id desc, o.sign_on_id desc limit 1) l
  where l.user_id = $16 and l.app_id = k.app_id) s on true
cross join lateral (
  select min(o.created) as first from (
    select o.sign_on_id, o.created, o.expiration_date from sign_ons o
    where o.user_id = $17 and o.app_id = k.app_id and o.refresh_family is not null offset 0) o
  where o.expiration_date > $18
    and exists (select from refresh_tokens r
      where r.sign_on_id = o.sign_on_id and r.replaced is null and r.expiration_date > $19)
) f
cross join lateral (
  select coalesce(json_agg(json_build_object('userId', u.user_id, 'name', u.name, 'apiId', y.app_id, 'apiName', y.name,
    'firstDate', m.first_used, 'lastDate', m.last_used) order by m.last_used desc, u.user_id, y.app_id), '[]') as machines
  from (
    select * from acting_machines m where m.user_id = $20 and m.app_id = k.app_id and m.expiration_date > $21
    order by m.user_id desc, m.app_id desc, m.last_used desc limit $22
  ) m
  cross join lateral (select u.user_id, u.name from users u where u.user_id = m.machine_id offset 0) u
  cross join lateral (select y.app_id, y.name from applications y where y.app_id = m.api_id offset 0) y
) acting
order by k.app_id;

select r.kind, r.owner, r.id, r.version, r.created, r.changed, r.scope, h.name as "organizationName",
  r."projectGrantId", coalesce(r."projectId", p.project_id) as "projectId", q.owner as "projectOwner", r.active, r."expirationDate",
  r."isShut" is not true and h.active is not false as "inEffect",
  coalesce(r.roles, array(
    select k.role_key from user_grant_roles k where k.user_grant_id = r.id order by k.role_key)) as roles,
  h.deleted is not true and r."isLeft" as "isMatch"
from (
  (select $1::integer as kind, m.owner, m.member_id as id, m.version, m.created, m.changed, m.scope, m.roles,
    m.project_id as "projectId", m.project_grant_id as "projectGrantId", null as active,
    null::timestamptz as "expirationDate", null as "isShut", not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0) as "isLeft"
  from members m where (m.user_id collate "C") = $2
    and ((m.owner collate "C"), (m.member_id collate "C")) > ($3, $4)
  order by (m.owner collate "C"), (m.member_id collate "C") limit $5)
  union all
  (select $6::integer, g.owner, g.user_grant_id, g.version, g.created, g.changed, null, null,
    g.project_id, g.project_grant_id, g.active, g.expiration_date, not g.active or (select case when not p.active then 'project'
  when not h.active then 'organization'
  when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
    and not exists (select from all_project_grants x
      where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
  when not (not exists (select from ended_roles e
  where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
  when g.expiration_date <= now() then 'time'
  else '' end
from projects p
cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
where p.project_id = g.project_id) <> '', not exists (select from ended_roles e
  where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)
  from user_grants g where (g.user_id collate "C") = $7
    and ((g.owner collate "C"), (g.user_grant_id collate "C")) > ($8, $9)
  order by (g.owner collate "C"), (g.user_grant_id collate "C") limit $10)
) r
left join lateral (select * from organizations where organization_id = r.owner limit 1) h on true
left join lateral (
  select project_id from project_grants where project_grant_id = r."projectGrantId" limit 1) p on true
left join lateral (
  select project_id, owner from projects where project_id = coalesce(r."projectId", p.project_id) limit 1) q on true
order by (r.owner collate "C"), (r.id collate "C") limit $11;

select e.organization_id as "organizationId", coalesce(h.name, '') as "organizationName", e.kind,
  e.by_administrator as "byAdministrator", e.ended, h.deleted is false as "isMatch"
from ended_roles e
left join lateral (select * from organizations where organization_id = e.organization_id limit 1) h on true
where e.user_id = $1 and (e.organization_id, e.kind) > ($2, $3)
order by e.organization_id, e.kind limit $4;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName",
  v.expiration_date > $1 and not h.deleted as "isMatch"
from (
  select v.* from invitations v
  where v.recipient_id = $2 and true
    and exists (select from all_users u where u.user_id = $3 and u.owner = $4 offset 0)
  order by v.invitation_id desc limit $5) v
cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
order by v.invitation_id desc;

select created, expiration_date as expires from known_browsers where user_id = $1 order by created limit $2 offset $3;

select email as address, kind, created from mail_messages where user_id = $1
union all
select c.phone, 'phone_code', m.created from phone_codes c join sms_messages m using (phone_code_id) where c.user_id = $2
order by created limit $3 offset $4;

select email as address, time from mail_sends where user_id = $1
union all
select phone, time from phone_sends where user_id = $2
order by time limit $3 offset $4;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, extract(epoch from time)::text as seconds
  from (
    select * from events where about_user_id = $1
      and true
    order by time, events.position limit $2
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  order by time, events.position;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, extract(epoch from time)::text as seconds
  from (
    select * from events where actor = $1
      and true
    order by time, events.position limit $2
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  order by time, events.position;

select key, value, shared from user_metadata where user_id = $1 order by key limit $2 offset $3;

select m.credential_id as id, m.owner, m.user_id as "userId", m.jwk,
    m.access_token_type as "accessTokenType", m.expiration_date as "expirationDate", m.creator_id as "creatorId", m.version,
    m.created, m.changed, p.last_used as "lastUsed", p.last_used_origin as "lastUsedOrigin" from machine_credentials m
left join machine_proofs p on p.credential_id = m.credential_id
where m.user_id = $1 order by m.credential_id limit $2 offset $3;

select t.token_id as id, t.owner, t.user_id as "userId", t.expiration_date as "expirationDate",
t.name, t.permissions, t.maker_id as "makerId", coalesce(t.creator_id, (
  select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1)) as "creatorId", t.version, t.created, t.changed, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
from access_tokens t left join bearers b on b.token_id = t.token_id
where t.user_id = $1 and t.token_id < $2
order by t.token_id desc limit $3;

select s.session_id as id, s.owner, s.user_id as "userId", s.expiration_date as "expirationDate",
s.amr, s.enrolment_only as "enrolmentOnly", s.version, s.created, s.changed, s.origin, coalesce(b.last_used, w.last_used) as "lastUsed",
  coalesce(b.last_used_origin, w.last_used_origin) as "lastUsedOrigin"
from sessions s left join bearers b on b.session_id = s.session_id left join browser_sessions w on w.session_id = s.session_id
where s.user_id = $1 and s.expiration_date > $2
  and s.session_id < $3
order by s.session_id desc limit $4;

select o.sign_on_id as id, o.app_id as "appId", o.session_id as "sessionId", o.scope, o.created,
  o.expiration_date as expires, b.last_used as "lastUsed", b.last_used_origin as "lastUsedOrigin"
from sign_ons o left join browser_sessions b on b.session_id = o.session_id
where o.user_id = $1 and (o.app_id, o.sign_on_id) > ($2, $3)
order by o.app_id, o.sign_on_id limit $4;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName",
  v.expiration_date > $1 and not h.deleted as "isMatch"
from (
  select v.* from invitations v
  where v.recipient_id = $2 and v.invitation_id < $3
    and exists (select from all_users u where u.user_id = $4 and u.owner = $5 offset 0)
  order by v.invitation_id desc limit $6) v
cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
order by v.invitation_id desc;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, extract(epoch from time)::text as seconds
  from (
    select * from events where about_user_id = $1
      and (time, events.position) > (to_timestamp($2::text::float8), $3::text::bigint)
    order by time, events.position limit $4
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  order by time, events.position;

select
epoch, xid::text as xid, events.position, owner, stream, version, type, payload, actor, request_id as "requestId", origin,
about_user_id as "aboutUserId", project_id as "projectId", time, numbered.number,
(select b.id from event_batches b where b.first <= numbered.number order by b.first desc limit 1) as batch, extract(epoch from time)::text as seconds
  from (
    select * from events where actor = $1
      and (time, events.position) > (to_timestamp($2::text::float8), $3::text::bigint)
    order by time, events.position limit $4
  ) events left join lateral (select n.number from event_numbers n where n.position = events.position) numbered on true
  order by time, events.position;

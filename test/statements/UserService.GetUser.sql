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

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, greatest(
      (select p.last_sign_in from passwords p where p.user_id = u.user_id),
      (select max(f.last_used) from factors f where f.user_id = u.user_id),
      (select s.created from sessions s where s.user_id = u.user_id order by s.session_id desc limit 1)) as "lastSignIn",
      (select p.changed from passwords p where p.user_id = u.user_id) as "passwordChanged", (not exists (select from passwords p where p.user_id = u.user_id offset 0)
      and exists (select from mail_codes c
        where c.user_id = u.user_id and c.purpose = 'password' and c.expiration_date > now() offset 0)) as "isInvited",
      array(select distinct f.kind from factors f where f.user_id = u.user_id order by f.kind) as factors
      from asked join users u on u.user_id = asked.id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, login_name text)
)
select n, u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
  u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed
             from asked join organization_login_names l on l.owner = asked.owner and l.login_name = asked.login_name
             join users u on u.owner = asked.owner and u.user_id = l.user_id;

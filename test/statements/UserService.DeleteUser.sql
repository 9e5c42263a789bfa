with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
  u.email, u.phone, u.phone_verified as "phoneVerified", u.name, u.active, u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed,
               exists (select from members m join users o on o.user_id = m.user_id and o.active
  where m.scope = 'instance' and 'INSTANCE_OWNER' = any(m.roles) and m.user_id = u.user_id)
                 and not exists (select from members m join users o on o.user_id = m.user_id and o.active
  where m.scope = 'instance' and 'INSTANCE_OWNER' = any(m.roles) and m.user_id <> u.user_id) as "lastOwner"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/user.deleted.sql

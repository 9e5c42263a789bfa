select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.phone, u.phone_verified as "phoneVerified", u.name, u.active, u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed from users u
where u.owner = $1
  and true
order by u.username, u.user_id limit $2;

select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.phone, u.phone_verified as "phoneVerified", u.name, u.active, u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed from users u
where u.owner = $1
  and (u.username, u.user_id) > ($2, $3)
order by u.username, u.user_id limit $4;

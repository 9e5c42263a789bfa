select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, u.username as key, true as "isMatch",
    row_number() over (order by u.username asc, u.user_id asc) = $1 as "isLast"
  from users u where u.owner = $2
    and true
  order by u.username asc, u.user_id asc limit $3) found
  where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, u.username as key, true as "isMatch",
    row_number() over (order by u.username asc, u.user_id asc) = $1 as "isLast"
  from users u where u.owner = $2
    and (u.username, u.user_id) > ($3, $4)
  order by u.username asc, u.user_id asc limit $5) found
  where "isMatch" or "isLast" order by key asc, id asc limit $6;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, u.username as key, true and coalesce(u.active and (u.locked and (u.locked_until is null or u.locked_until > $1)), false) and coalesce((u.kind collate "C") = $2, false) as "isMatch",
    row_number() over (order by u.username desc, u.user_id desc) = $3 as "isLast"
  from users u where (u.owner collate "C") = $4 and u.locked
    and true
  order by u.username desc, u.user_id desc limit $5) found
  where "isMatch" or "isLast" order by key desc, id desc limit $6;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, '' as key,
    true and coalesce(u.active = false, false) as "isMatch",
    row_number() over (order by u.user_id desc) = $1 as "isLast"
  from users u where u.owner = $2
    and true
  order by u.user_id desc limit $3) found
  where "isMatch" or "isLast" order by id desc limit $4;

select * from (
  select (u.user_id collate "C") as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, (folded(u.email) collate "C") as key, true and coalesce(strpos(u.words, (select ' ' || left(folded($1), 50))) > 0, false) and coalesce((u.kind collate "C") = $2, false) and coalesce(u.active = true, false) and coalesce(not (u.locked and (u.locked_until is null or u.locked_until > $3)), false) as "isMatch",
    row_number() over (order by (folded(u.email) collate "C") asc, (u.user_id collate "C") asc) = $4 as "isLast"
  from users u where (u.owner collate "C") = $5 and (folded(u.email) collate "C") = (select folded($6))
    and true
  order by (folded(u.email) collate "C") asc, (u.user_id collate "C") asc limit $7) found
  where "isMatch" or "isLast" order by id asc limit $8;

select * from (
  select w.object_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, w.term as key, true and coalesce(strpos(u.words, (select ' ' || left(folded($1), 50))) > 0, false) and strpos(u.words, (select ' ' || left(folded($2), 50))) = strpos(u.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $3 as "isLast" from (select * from terms where noun = 'user' and scope = $4) w
    where
w.term >= (select left(folded($5), 50)) and w.term < (select left(folded($6), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $7
  ) w cross join lateral (
    select * from users u where u.owner = $8 and u.user_id = w.object_id limit 1
  ) u) found
  where "isMatch" or "isLast" order by key asc, id asc limit $9;

select * from (
  select (u.user_id collate "C") as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, (u.phone collate "C") as key, true and coalesce((folded(user_name(u.name, u.given_name, u.family_name)) collate "C") >= (select folded($1)) and (folded(user_name(u.name, u.given_name, u.family_name)) collate "C") < (select folded($2) || chr(1114111)), false) as "isMatch",
    row_number() over (order by (u.phone collate "C") desc, (u.user_id collate "C") desc) = $3 as "isLast"
  from users u where (u.owner collate "C") = $4 and (u.phone collate "C") >= (select folded($5)) and (u.phone collate "C") < (select folded($6) || chr(1114111))
    and true
  order by (u.phone collate "C") desc, (u.user_id collate "C") desc limit $7) found
  where "isMatch" or "isLast" order by key desc, id desc limit $8;

select * from (
  select m.id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, '' as key, u.user_id is not null and true and coalesce(strpos(u.words, (select ' ' || left(folded($1), 50))) > 0, false) as "isMatch", m."isLast"
  from (
    select m.id, row_number() over (order by m.id asc) = $2 as "isLast" from (select user_id as id, key, value from user_metadata where owner = $3) m
    where m.key = $4 and m.value = $5 and true
    order by m.id asc limit $6
  ) m left join lateral (
    select * from users u where u.owner = $7 and u.user_id = m.id limit 1
  ) u on true) found
  where "isMatch" or "isLast" order by id asc limit $8;

select * from (
  select (u.user_id collate "C") as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, (folded(u.email) collate "C") as key, true and coalesce(exists (select from (select user_id as id, key, value from user_metadata where owner = $1) m where m.id = u.user_id and m.key = $2 and m.value = $3 offset 0), false) as "isMatch",
    row_number() over (order by (folded(u.email) collate "C") asc, (u.user_id collate "C") asc) = $4 as "isLast"
  from users u where (u.owner collate "C") = $5 and (folded(u.email) collate "C") = (select folded($6))
    and true
  order by (folded(u.email) collate "C") asc, (u.user_id collate "C") asc limit $7) found
  where "isMatch" or "isLast" order by id asc limit $8;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, u.username as key, true and coalesce((u.email is not null and u.email_verified = $1), false) and coalesce((u.phone is not null and u.phone_verified = $2), false) and coalesce((u.kind = 'human' and not exists (select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes' offset 0)), false) and coalesce(exists (select from factors f where f.user_id = u.user_id and f.kind = $3 offset 0), false) as "isMatch",
    row_number() over (order by u.username asc, u.user_id asc) = $4 as "isLast"
  from users u where u.owner = $5
    and true
  order by u.username asc, u.user_id asc limit $6) found
  where "isMatch" or "isLast" order by key asc, id asc limit $7;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, u.username as key, true and coalesce((not exists (select from passwords p where p.user_id = u.user_id offset 0)
    and exists (select from mail_codes c
      where c.user_id = u.user_id and c.purpose = 'password' and c.expiration_date > now() offset 0)) = $1, false) and coalesce((u.kind = 'human' and coalesce(greatest(
    (select p.last_sign_in from passwords p where p.user_id = u.user_id),
    (select max(f.last_used) from factors f where f.user_id = u.user_id),
    (select s.created from sessions s where s.user_id = u.user_id order by s.session_id desc limit 1)) < $2, true)), false) and coalesce(exists (select from passwords p where p.user_id = u.user_id and p.changed < $3 offset 0), false) as "isMatch",
    row_number() over (order by u.username asc, u.user_id asc) = $4 as "isLast"
  from users u where u.owner = $5
    and true
  order by u.username asc, u.user_id asc limit $6) found
  where "isMatch" or "isLast" order by key asc, id asc limit $7;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, '' as key,
    true and coalesce(strpos(u.words, (select ' ' || left(folded($1), 50))) > 0, false) as "isMatch",
    row_number() over (order by u.user_id desc) = $2 as "isLast"
  from (select * from users where user_id = any($3) offset 0) u where u.owner = $4
    and true
  order by u.user_id desc limit $5) found
  where "isMatch" or "isLast" order by id desc limit $6;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, '' as key,
    true and coalesce((folded(u.email) collate "C") = (select folded($1)), false) and coalesce((select not d.deleted from organizations d where d.organization_id = u.owner), false) as "isMatch",
    row_number() over (order by u.user_id asc) = $2 as "isLast"
  from users u where true
    and true
  order by u.user_id asc limit $3) found
  where "isMatch" or "isLast" order by id asc limit $4;

select * from (
  select u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, '' as key,
    true and coalesce((select not d.deleted from organizations d where d.organization_id = u.owner), false) as "isMatch",
    row_number() over (order by u.user_id desc) = $1 as "isLast"
  from (select * from users where user_id = any($2) offset 0) u where true
    and true
  order by u.user_id desc limit $3) found
  where "isMatch" or "isLast" order by id desc limit $4;

select u.id as "userId", m.entries from unnest($1::text[]) u (id)
cross join lateral (
  select json_agg(json_build_object('key', key, 'value', value, 'shared', shared) order by key) as entries
  from user_metadata where user_id = u.id
) m where m.entries is not null;

select * from (
  select w.object_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
u.version, u.created, u.changed, w.term as key, true and strpos(u.words, (select ' ' || left(folded($1), 50))) = strpos(u.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'user' and scope = $3) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and (w.term, w.object_id) > ($6, $7)
    order by w.term asc, w.object_id asc limit $8
  ) w cross join lateral (
    select * from users u where u.owner = $9 and u.user_id = w.object_id limit 1
  ) u) found
  where "isMatch" or "isLast" order by key asc, id asc limit $10;

select * from (
select o.organization_id as id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
  o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, o.name as key, true as "isMatch",
  row_number() over (order by o.name asc, o.organization_id asc) = $1 as "isLast"
from organizations o where true and not o.deleted
  and true
order by o.name asc, o.organization_id asc limit $2) found
where "isMatch" or "isLast" order by key asc, id asc limit $3;

select * from (
select o.organization_id as id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
  o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, o.name as key, true as "isMatch",
  row_number() over (order by o.name asc, o.organization_id asc) = $1 as "isLast"
from organizations o where true and not o.deleted
  and (o.name, o.organization_id) > ($2, $3)
order by o.name asc, o.organization_id asc limit $4) found
where "isMatch" or "isLast" order by key asc, id asc limit $5;

select * from (
  select w.object_id as id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
    o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, w.term as key, true and coalesce(not o.deleted, false) and strpos(o.words, (select ' ' || left(folded($1), 50))) = strpos(o.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'organization' and scope = '') w
    where
w.term >= (select left(folded($3), 50)) and w.term < (select left(folded($4), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $5
  ) w cross join lateral (
    select * from organizations o where true and o.organization_id = w.object_id limit 1
  ) o) found
  where "isMatch" or "isLast" order by key asc, id asc limit $6;

select * from (
select o.organization_id as id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
  o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, o.name as key, true as "isMatch",
  row_number() over (order by o.name asc, o.organization_id asc) = $1 as "isLast"
from (select * from organizations where organization_id = any($2) offset 0) o where true and not o.deleted
  and true
order by o.name asc, o.organization_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
  select w.object_id as id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
    o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, w.term as key, true and coalesce(not o.deleted, false) and strpos(o.words, (select ' ' || left(folded($1), 50))) = strpos(o.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'organization' and scope = '' and object_id = any($3) offset 0) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from organizations o where true and o.organization_id = w.object_id limit 1
  ) o) found
  where "isMatch" or "isLast" order by key asc, id asc limit $7;

select * from (
select o.organization_id as id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
  o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, o.name as key, true as "isMatch",
  row_number() over (order by o.name asc, o.organization_id asc) = $1 as "isLast"
from organizations o where true and not o.deleted and not o.active
  and true
order by o.name asc, o.organization_id asc limit $2) found
where "isMatch" or "isLast" order by key asc, id asc limit $3;

select * from (
select m.id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
  o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, '' as key, o.organization_id is not null and true and coalesce(not o.deleted, false) as "isMatch", m."isLast"
from (
  select m.id, row_number() over (order by m.id asc) = $1 as "isLast" from (select organization_id as id, key, value from organization_metadata) m
  where m.key = $2 and m.value = $3 and true
  order by m.id asc limit $4
) m left join lateral (
  select * from organizations o where true and o.organization_id = m.id limit 1
) o on true) found
where "isMatch" or "isLast" order by id asc limit $5;

select * from (
select m.id, o.organization_id as owner, o.name, o.active, o.own_login_names as "ownLoginNames",
  o.requires_acceptance as "requiresAcceptance", o.version, o.created, o.changed, '' as key, o.organization_id is not null and true and coalesce(not o.deleted, false) as "isMatch", m."isLast"
from (
  select m.id, row_number() over (order by m.id asc) = $1 as "isLast" from (select organization_id as id, key, value from organization_metadata where organization_id = any($2) offset 0) m
  where m.key = $3 and m.value = $4 and true
  order by m.id asc limit $5
) m left join lateral (
  select * from organizations o where true and o.organization_id = m.id limit 1
) o on true) found
where "isMatch" or "isLast" order by id asc limit $6;

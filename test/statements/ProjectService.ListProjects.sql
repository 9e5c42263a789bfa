select * from (
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, null::text as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $1 as "isLast"
from projects p where p.owner = $2
  and true
order by p.name asc, p.project_id asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, null::text as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $1 as "isLast"
from projects p where p.owner = $2
  and (p.name, p.project_id) > ($3, $4)
order by p.name asc, p.project_id asc limit $5) found
where "isMatch" or "isLast" order by key asc, id asc limit $6;

select * from ((
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, null::text as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $1 as "isLast"
from projects p where p.owner = $2
  and true
order by p.name asc, p.project_id asc limit $3) union all (
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, p.grant_id as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $4 as "isLast"
from (select p.*, g.project_grant_id as grant_id
from project_grants g join projects p on p.project_id = g.project_id where g.granted_organization_id = $5 and true
and (select not d.deleted from organizations d where d.organization_id = g.owner) offset 0) p where true
  and true
order by p.name asc, p.project_id asc limit $6)) found
where "isMatch" or "isLast" order by key asc, id asc limit $7;

select * from ((
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, null::text as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $1 as "isLast"
from (select * from projects where project_id = any($2) offset 0) p where p.owner = $3
  and true
order by p.name asc, p.project_id asc limit $4) union all (
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, p.grant_id as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $5 as "isLast"
from (select p.*, g.project_grant_id as grant_id
from project_grants g join projects p on p.project_id = g.project_id where g.granted_organization_id = $6 and g.project_grant_id = any($7)
and (select not d.deleted from organizations d where d.organization_id = g.owner) offset 0) p where true
  and true
order by p.name asc, p.project_id asc limit $8)) found
where "isMatch" or "isLast" order by key asc, id asc limit $9;

select * from ((
  select w.object_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, null::text as "grantId", w.term as key, true and strpos(p.words, (select ' ' || left(folded($1), 50))) = strpos(p.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'project' and scope = $3 and object_id = any($4) offset 0) w
    where
w.term >= (select left(folded($5), 50)) and w.term < (select left(folded($6), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $7
  ) w cross join lateral (
    select * from projects p where p.owner = $8 and p.project_id = w.object_id limit 1
  ) p) union all (
  select w.object_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, p.grant_id as "grantId", w.term as key, true and strpos(p.words, (select ' ' || left(folded($9), 50))) = strpos(p.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $10 as "isLast" from (select t.* from project_grants g
    join terms t on t.noun = 'project' and t.scope = g.owner and t.object_id = g.project_id where g.granted_organization_id = $11 and g.project_grant_id = any($12)
  and (select not d.deleted from organizations d where d.organization_id = g.owner) offset 0) w
    where
w.term >= (select left(folded($13), 50)) and w.term < (select left(folded($14), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $15
  ) w cross join lateral (
    select * from (select p.*, g.project_grant_id as grant_id
  from project_grants g join projects p on p.project_id = g.project_id where g.granted_organization_id = $16) p where true and p.project_id = w.object_id limit 1
  ) p)) found
  where "isMatch" or "isLast" order by key asc, id asc limit $17;

select * from ((
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, null::text as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $1 as "isLast"
from projects p where (p.owner collate "C") = $2 and not p.active
  and true
order by p.name asc, p.project_id asc limit $3) union all (
select p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created, p.changed, p.grant_id as "grantId", p.name as key, true as "isMatch",
  row_number() over (order by p.name asc, p.project_id asc) = $4 as "isLast"
from (select p.*, g.project_grant_id as grant_id
from project_grants g join projects p on p.project_id = g.project_id where g.granted_organization_id = $5 and true
and (select not d.deleted from organizations d where d.organization_id = g.owner) offset 0) p where true and not p.active
  and true
order by p.name asc, p.project_id asc limit $6)) found
where "isMatch" or "isLast" order by key asc, id asc limit $7;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text)
)
select n, p.project_id as id, p.owner, p.name, p.active, p.grant_required as "grantRequired", p.version, p.created,
               p.changed, g.project_grant_id as "grantId"
             from asked join projects p on p.project_id = asked.id
             left join lateral (
               select project_grant_id from project_grants g
               where g.project_id = p.project_id and g.granted_organization_id = asked.organization limit 1) g on true
             where p.owner = asked.organization or (g.project_grant_id is not null and (select not d.deleted from organizations d where d.organization_id = p.owner));

select * from (
select r.role_key as id, r.display_name as "displayName", r.role_key as key, true as "isMatch",
  row_number() over (order by r.role_key asc, r.role_key asc) = $1 as "isLast"
from project_roles r where r.project_id = $2
  and true
order by r.role_key asc, r.role_key asc limit $3) found
where "isMatch" or "isLast" order by key asc, id asc limit $4;

select * from (
select r.role_key as id, r.display_name as "displayName", r.role_key as key, true as "isMatch",
  row_number() over (order by r.role_key asc, r.role_key asc) = $1 as "isLast"
from project_roles r where r.project_id = $2
  and (r.role_key, r.role_key) > ($3, $4)
order by r.role_key asc, r.role_key asc limit $5) found
where "isMatch" or "isLast" order by key asc, id asc limit $6;

select * from (
  select w.object_id as id, r.display_name as "displayName", w.term as key, true and strpos(r.words, (select ' ' || left(folded($1), 50))) = strpos(r.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select * from terms where noun = 'role' and scope = $3) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from project_roles r where r.project_id = $7 and r.role_key = w.object_id limit 1
  ) r) found
  where "isMatch" or "isLast" order by key asc, id asc limit $8;

select * from (
select r.role_key as id, r.display_name as "displayName", r.role_key as key, true as "isMatch",
  row_number() over (order by r.role_key asc, r.role_key asc) = $1 as "isLast"
from (select r.* from project_grant_roles g
join project_roles r on r.project_id = g.project_id and r.role_key = g.role_key where g.project_grant_id = $2 offset 0) r where r.project_id = $3
  and true
order by r.role_key asc, r.role_key asc limit $4) found
where "isMatch" or "isLast" order by key asc, id asc limit $5;

select * from (
  select w.object_id as id, r.display_name as "displayName", w.term as key, true and strpos(r.words, (select ' ' || left(folded($1), 50))) = strpos(r.words, ' ' || w.term || ' ') as "isMatch", w."isLast"
  from (
    select w.term, w.object_id, row_number() over (order by w.term asc, w.object_id asc) = $2 as "isLast" from (select t.* from project_grant_roles g
  join terms t on t.noun = 'role' and t.scope = g.project_id and t.object_id = g.role_key where g.project_grant_id = $3 offset 0) w
    where
w.term >= (select left(folded($4), 50)) and w.term < (select left(folded($5), 50) || chr(1114111))
      and true
    order by w.term asc, w.object_id asc limit $6
  ) w cross join lateral (
    select * from project_roles r where r.project_id = $7 and r.role_key = w.object_id limit 1
  ) r) found
  where "isMatch" or "isLast" order by key asc, id asc limit $8;

select i.id, found.kind, found.name, found."loginName", found.owner
from unnest($1::text[]) with ordinality i (id, n) cross join lateral (select 1 as kind, o.name, null as "loginName", o.organization_id as owner
from organizations o where o.organization_id = i.id and not o.deleted and (i.id = $2 or exists (
  select from project_grants g where g.owner = i.id and g.granted_organization_id = $3
and true offset 0)) union all select 2 as kind, user_name(u.name, u.given_name, u.family_name) as name, u.username as "loginName", u.owner from users u where u.owner = case when i.id = $4 then $5 else $6::text end and u.user_id = i.id union all select 3 as kind, p.name, null as "loginName", p.owner from projects p where p.owner = $7 and p.project_id = i.id and true union all select 3 as kind, p.name, null as "loginName", p.owner from projects p join project_grants g on g.project_id = p.project_id
  where g.project_id = i.id and g.granted_organization_id = $8
and true and (select not d.deleted from organizations d where d.organization_id = p.owner) union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.owner = $9 and g.project_grant_id = i.id and true union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.project_grant_id = i.id and g.granted_organization_id = $10
and true
  and (select not d.deleted from organizations d where d.organization_id = g.owner) union all select 5 as kind, a.name, null as "loginName", a.owner from applications a join projects p on p.project_id = a.project_id where a.owner = $11 and a.app_id = i.id and true) found order by i.n;

select i.id, found.kind, found.name, found."loginName", found.owner
from unnest($1::text[]) with ordinality i (id, n) cross join lateral (select 2 as kind, user_name(u.name, u.given_name, u.family_name) as name, u.username as "loginName", u.owner from users u where u.owner = case when i.id = $2 then $3 else $4::text end and u.user_id = i.id) found order by i.n;

select i.id, found.kind, found.name, found."loginName", found.owner
from unnest($1::text[]) with ordinality i (id, n) cross join lateral (select 1 as kind, o.name, null as "loginName", o.organization_id as owner
from organizations o where o.organization_id = i.id and not o.deleted union all select 2 as kind, user_name(u.name, u.given_name, u.family_name) as name, u.username as "loginName", u.owner from users u where u.user_id = i.id and (select not d.deleted from organizations d where d.organization_id = u.owner) union all select 3 as kind, p.name, null as "loginName", p.owner from projects p where p.project_id = i.id and (select not d.deleted from organizations d where d.organization_id = p.owner) union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.project_grant_id = i.id and (select not d.deleted from organizations d where d.organization_id = g.owner) union all select 5 as kind, a.name, null as "loginName", a.owner from applications a join projects p on p.project_id = a.project_id where a.app_id = i.id and (select not d.deleted from organizations d where d.organization_id = a.owner)) found order by i.n;

select i.id, found.kind, found.name, found."loginName", found.owner
from unnest($1::text[]) with ordinality i (id, n) cross join lateral (select 1 as kind, o.name, null as "loginName", o.organization_id as owner
from organizations o where o.organization_id = i.id and not o.deleted and (i.id = $2 or exists (
  select from project_grants g where g.owner = i.id and g.granted_organization_id = $3
and g.project_grant_id = any($4::text[]) offset 0)) union all select 2 as kind, user_name(u.name, u.given_name, u.family_name) as name, u.username as "loginName", u.owner from users u where u.owner = case when i.id = $5 then $6 else $7::text end and u.user_id = i.id union all select 3 as kind, p.name, null as "loginName", p.owner from projects p where p.owner = $8 and p.project_id = i.id and p.project_id = any($9::text[]) union all select 3 as kind, p.name, null as "loginName", p.owner from projects p join project_grants g on g.project_id = p.project_id
  where g.project_id = i.id and g.granted_organization_id = $10
and g.project_grant_id = any($11::text[]) and (select not d.deleted from organizations d where d.organization_id = p.owner) union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.owner = $12 and g.project_grant_id = i.id and g.project_id = any($13::text[]) union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.project_grant_id = i.id and g.granted_organization_id = $14
and g.project_grant_id = any($15::text[])
  and (select not d.deleted from organizations d where d.organization_id = g.owner) union all select 5 as kind, a.name, null as "loginName", a.owner from applications a join projects p on p.project_id = a.project_id where a.owner = $16 and a.app_id = i.id and a.project_id = any($17::text[])) found order by i.n;

select i.id, found.kind, found.name, found."loginName", found.owner
from unnest($1::text[]) with ordinality i (id, n) cross join lateral (select 1 as kind, o.name, null as "loginName", o.organization_id as owner
from organizations o where o.organization_id = i.id and not o.deleted and (i.id = $2 or exists (
  select from project_grants g where g.owner = i.id and g.granted_organization_id = $3
and g.project_grant_id = any($4::text[]) offset 0)) union all select 2 as kind, user_name(u.name, u.given_name, u.family_name) as name, u.username as "loginName", u.owner from users u where u.owner = case when i.id = $5 then $6 else $7::text end and u.user_id = i.id union all select 3 as kind, p.name, null as "loginName", p.owner from projects p where p.owner = $8 and p.project_id = i.id and p.project_id = any($9::text[]) union all select 3 as kind, p.name, null as "loginName", p.owner from projects p join project_grants g on g.project_id = p.project_id
  where g.project_id = i.id and g.granted_organization_id = $10
and g.project_grant_id = any($11::text[]) and (select not d.deleted from organizations d where d.organization_id = p.owner) union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.owner = $12 and g.project_grant_id = i.id and g.project_id = any($13::text[]) union all select 4 as kind, p.name, null as "loginName", g.owner from project_grants g
join projects p on p.project_id = g.project_id where g.project_grant_id = i.id and g.granted_organization_id = $14
and g.project_grant_id = any($15::text[])
  and (select not d.deleted from organizations d where d.organization_id = g.owner)) found order by i.n;

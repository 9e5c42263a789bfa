with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

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

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select r.kind, r.owner, r.id, r.version, r.created, r.changed, r.scope, h.name as "organizationName",
  r."projectGrantId", coalesce(r."projectId", p.project_id) as "projectId",
  coalesce(r.roles, array(
    select k.role_key from user_grant_roles k where k.user_grant_id = r.id order by k.role_key)) as roles,
  h.deleted is not true and r."isLeft" as "isMatch"
from (
  (select $1::integer as kind, m.owner, m.member_id as id, m.version, m.created, m.changed, m.scope, m.roles,
    m.project_id as "projectId", m.project_grant_id as "projectGrantId", not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' offset 0) as "isLeft"
  from members m where (m.user_id collate "C") = $2
    and ((m.owner collate "C"), (m.member_id collate "C")) > ($3, $4)
  order by (m.owner collate "C"), (m.member_id collate "C") limit $5)
  union all
  (select $6::integer, g.owner, g.user_grant_id, g.version, g.created, g.changed, null, null,
    g.project_id, g.project_grant_id, not exists (select from ended_roles e
  where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' offset 0)
  from user_grants g where (g.user_id collate "C") = $7
    and ((g.owner collate "C"), (g.user_grant_id collate "C")) > ($8, $9)
  order by (g.owner collate "C"), (g.user_grant_id collate "C") limit $10)
) r
left join lateral (select * from organizations where organization_id = r.owner limit 1) h on true
left join lateral (
  select project_id from project_grants where project_grant_id = r."projectGrantId" limit 1) p on true
order by (r.owner collate "C"), (r.id collate "C") limit $11;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select e.organization_id as "organizationId", coalesce(h.name, '') as "organizationName", e.kind,
  e.by_administrator as "byAdministrator", e.ended, h.deleted is false as "isMatch"
from ended_roles e
left join lateral (select * from organizations where organization_id = e.organization_id limit 1) h on true
where e.user_id = $1 and (e.organization_id, e.kind) > ($2, $3)
order by e.organization_id, e.kind limit $4;

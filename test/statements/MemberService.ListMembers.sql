with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, scope text, id text, project text)
)
select n from asked
             left join projects p on asked.scope = 'project' and p.owner = asked.owner and p.project_id = asked.id
             left join project_grants g on asked.scope = 'project_grant' and g.project_grant_id = asked.id
               and g.granted_organization_id = asked.owner and asked.project in ('', g.project_id)
               and (select not d.deleted from organizations d where d.organization_id = g.owner)
             where asked.scope in ('instance', 'organization') or coalesce(p.project_id, g.project_id) is not null;

select m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed,
not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0) and not exists (select from all_users x where x.deleted and x.user_id = m.user_id offset 0) as "isMatch" from members m where m.scope = $1 and m.scope_id = $2
  and true
and true
order by m.member_id desc limit $3;

select m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed,
not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0) and not exists (select from all_users x where x.deleted and x.user_id = m.user_id offset 0) as "isMatch" from members m where m.scope = $1 and m.scope_id = $2
  and true
and m.member_id < $3
order by m.member_id desc limit $4;

select m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed,
not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0) and not exists (select from all_users x where x.deleted and x.user_id = m.user_id offset 0) as "isMatch" from terms w cross join lateral (
    select * from members where owner = $1 and member_id = w.object_id limit 1) m
  where w.noun = 'member' and w.scope = $2 and w.term = $3
and true
order by w.object_id desc limit $4;

select m.user_id as "userId", m.roles, m.member_id as id, m.owner, m.version, m.created, m.changed,
not exists (select from ended_roles e
  where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0) and not exists (select from all_users x where x.deleted and x.user_id = m.user_id offset 0) as "isMatch" from (
select * from members m where (m.user_id, m.scope, m.scope_id) between ($1, $2, $3) and ($4, $5, $6) offset 0) m where true
  and $7 = any(m.roles)
and true
order by m.member_id desc limit $8;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, giver text)
)
select n, u.user_id as id, u.owner, u.version, u.created, u.changed,
      json_build_array(
        json_build_object('kind', 1, 'isGiven', exists (select from members m where (m.user_id collate "C") = asked.id and (m.owner collate "C") = asked.giver and m.scope <> 'instance' offset 0),
        'endedBy', (select case when e.by_administrator then 'administrator' else 'user' end from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_MEMBERSHIP'),
        'isKept', (select e.kept from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_MEMBERSHIP'),
        'jobId', (select j.job_id from jobs j where j.ended is null and j.owner = asked.owner and j.stream = asked.id
          and j.type = 'user.roles_ended' and j.payload->>'organizationId' = asked.giver
          and j.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' limit 1)),
        json_build_object('kind', 2, 'isGiven', exists (select from user_grants g where (g.user_id collate "C") = asked.id and (g.owner collate "C") = asked.giver offset 0),
        'endedBy', (select case when e.by_administrator then 'administrator' else 'user' end from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_USER_GRANT'),
        'isKept', (select e.kept from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_USER_GRANT'),
        'jobId', (select j.job_id from jobs j where j.ended is null and j.owner = asked.owner and j.stream = asked.id
          and j.type = 'user.roles_ended' and j.payload->>'organizationId' = asked.giver
          and j.payload->'kinds' ? 'ROLE_KIND_USER_GRANT' limit 1))
      ) as kinds,
      exists (
  select from members m where m.user_id = u.user_id and m.scope = 'organization' and m.scope_id = asked.giver
    and case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
    and not exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and o.user_id <> m.user_id)) as "isLastOwner"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

select count(*) > 1000 or false as "isTooMuch" from ((select from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' and (m.user_id collate "C") = i.stream and (m.owner collate "C") = i.payload->>'organizationId' and m.scope <> 'instance' and m.scope <> 'organization') c limit 1001) union all (select from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grants g on not coalesce((i.payload->>'kept')::boolean, false) and i.payload->'kinds' ? 'ROLE_KIND_USER_GRANT' and (g.user_id collate "C") = i.stream and (g.owner collate "C") = i.payload->>'organizationId') c limit 1001)) found;

-- appends: facts/user.roles_ended.sql

select from users where user_id = $1 for update;

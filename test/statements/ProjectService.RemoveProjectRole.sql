with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text, key text)
)
select n, p.project_id as id, p.owner, p.version, p.created, p.changed,
               r.role_key as key, r.deleted is true as "isBeingDeleted"
             from asked join projects p on p.owner = asked.organization and p.project_id = asked.id
             left join lateral (
               select * from all_project_roles t where t.project_id = p.project_id and t.role_key = asked.key
               order by t.deleted limit 1) r on true;

select count(*) > 1000 or exists (select from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join all_project_grant_roles r on r.project_id = i.stream and r.role_key = i.payload->>'key'
   where r.deleted) as "isTooMuch" from ((select from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grant_roles r on (r.project_id collate "C") = i.stream and (r.role_key collate "C") = i.payload->>'key'
      cross join lateral (select * from user_grants where user_grant_id = r.user_grant_id offset 0) g) c limit 1001) union all (select from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object('key', r.role_key)
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i
      join project_grant_roles r on r.project_id = i.stream and r.role_key = i.payload->>'key'
      join project_grants g on g.project_grant_id = r.project_grant_id) c limit 1001) union all (select from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.project_id = i.stream
        and coalesce(v.project_grant, v.grants->0)->'roleKeys' ? (i.payload->>'key')) c limit 1001)) found;

-- appends: facts/project.role_removed.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, "grant" text)
)
select n, g.project_grant_id as id, g.owner, g.version, g.created, g.changed
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             left join project_grants g
               on g.owner = p.owner and g.project_grant_id = asked."grant" and g.project_id = p.project_id;

select count(*) > 1000 or false as "isTooMuch" from ((select from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grants g on g.project_grant_id = i.stream) c limit 1001) union all (select from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on m.project_grant_id = i.stream) c limit 1001) union all (select from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.project_grant_id = i.stream) c limit 1001)) found;

-- appends: facts/project_grant.revoked.sql

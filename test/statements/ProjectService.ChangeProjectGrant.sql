with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, "grant" text, keys text[])
)
select n, g.project_grant_id as id, g.owner, g.version, g.created, g.changed,
               (select o.organization_id from organizations o
                where o.organization_id = g.granted_organization_id and o.requires_acceptance) as "decidedBy",
               array(select r.role_key from project_grant_roles r
                     where r.project_grant_id = g.project_grant_id) as "roleKeys",
               array(select r.role_key from all_project_grant_roles r
                     where r.project_grant_id = g.project_grant_id and r.deleted) as "beingDeleted",
               array(select r.role_key from project_roles r
                     where r.project_id = p.project_id and r.role_key = any(asked.keys)) as known
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             left join project_grants g
               on g.owner = p.owner and g.project_grant_id = asked."grant" and g.project_id = p.project_id;

select count(*) > 1000 or false as "isTooMuch" from ((select from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object('roleKeys', array(
        select k.role_key from user_grant_roles k
        where k.user_grant_id = g.user_grant_id and not i.payload->'removedRoleKeys' ? k.role_key
        order by k.role_key))
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i
      cross join jsonb_array_elements_text(i.payload->'removedRoleKeys') lost (role_key)
      join user_grant_roles r on r.project_grant_id = i.stream and r.role_key = lost.role_key
      join user_grants g on g.user_grant_id = r.user_grant_id
      where not exists (
        select from user_grant_roles s
        where s.user_grant_id = r.user_grant_id and s.role_key < r.role_key
          and i.payload->'removedRoleKeys' ? s.role_key offset 0)) c limit 1001) union all (select from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.project_grant_id = i.stream and v.grants->0->'roleKeys' ?| array(
        select jsonb_array_elements_text(i.payload->'removedRoleKeys'))) c limit 1001)) found;

-- appends: facts/project_grant.changed.sql

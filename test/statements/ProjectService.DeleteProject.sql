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

select count(*) > 1000 or exists (select from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join all_project_grants g on g.project_id = i.stream and g.deleted) as "isTooMuch" from ((select from (select i.n, c.owner, c.consent_id, c.version + 1,
    jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
  from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join applications a on a.project_id = i.stream join consents c on c.app_id = a.app_id) c limit 1001) union all (select from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
    'sessionId', s.session_id, 'reason', 'SIGN_ON_END_APPLICATION_DELETED')
  from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join applications a on a.project_id = i.stream join sign_ons s on s.app_id = a.app_id and s.expiration_date > now()
  join browser_sessions b on b.session_id = s.session_id) c limit 1001) union all (select from (select i.n, a.owner, a.app_id, a.version + 1, jsonb_build_object()
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join applications a on a.project_id = i.stream) c limit 1001) union all (select from (select i.n, r.owner, r.user_grant_id, r.version + 1, jsonb_build_object()
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join user_grants r on r.project_id = i.stream) c limit 1001) union all (select from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join members m on m.project_id = i.stream) c limit 1001) union all (select from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
      from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join project_grants g on g.project_id = i.stream) c limit 1001) union all (select from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i join invitations v on v.project_id = i.stream) c limit 1001)) found;

-- appends: facts/project.deleted.sql

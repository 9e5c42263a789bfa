with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, app text)
)
select n, a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
    a.active, a.version, a.created, a.changed,
    exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
    (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil"
    from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
    left join applications a on a.app_id = asked.app and (a.owner = p.owner and a.project_id = p.project_id) is true;

select count(*) > 1000 or false as "isTooMuch" from ((select from (select i.n, c.owner, c.consent_id, c.version + 1,
  jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i  join consents c on c.app_id = i.stream) c limit 1001) union all (select from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
  'sessionId', s.session_id, 'reason', 'SIGN_ON_END_APPLICATION_DELETED')
from (select 0 as n, $1::text as owner, $2::text as stream, $3::text::jsonb as payload) i  join sign_ons s on s.app_id = i.stream and s.expiration_date > now()
join browser_sessions b on b.session_id = s.session_id) c limit 1001)) found;

-- appends: facts/application.deleted.sql

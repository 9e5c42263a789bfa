with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, app text)
)
select n, a.app_id as id, a.owner, a.project_id as "projectId", a.name, a.client_id as "clientId", a.oidc, a.api, a.is_api as "isApi", a.is_document as "isDocument",
    a.active, a.version, a.created, a.changed,
    exists (select from application_keys k where k.app_id = a.app_id) as "hasKey",
    (select max(s.expiration_date) from client_secrets s where s.app_id = a.app_id) as "replacedUntil"
    from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
    left join applications a on a.app_id = asked.app and (a.owner = p.owner and a.project_id = p.project_id) is true;

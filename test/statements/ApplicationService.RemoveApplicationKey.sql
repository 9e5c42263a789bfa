with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, app text)
)
select n, a.app_id as id, a.owner, a.oidc, a.is_document as "isDocument", a.version, a.created, a.changed, coalesce((
               select jsonb_agg(jsonb_build_object('id', k.key_id, 'created', k.created, 'jwk', k.jwk, 'jwksUri', k.jwks_uri)
                 order by k.version)
               from application_keys k where k.app_id = a.app_id), '[]') as keys
    from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
    left join applications a on a.app_id = asked.app and (a.owner = p.owner and a.project_id = p.project_id) is true;

-- appends: facts/application.key_removed.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, name text, client_id text)
)
select n, (
               select a.app_id from applications a where a.project_id = asked.project and a.name = asked.name) as "takenBy",
               exists (select from used_client_ids u where u.client_id = asked.client_id) as "clientIdUsed"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project;

-- appends: facts/application.api_created.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, owner, project_id as "projectId", project_grant_id as "projectGrantId"
             from asked join user_grants on user_grant_id = asked.id;

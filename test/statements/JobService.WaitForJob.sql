with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text, organization text, actor text)
)
select n, j.job_id as id, j.owner, j.type, j.stream, j.actor, j.request_id as "requestId", j.created, j.ended, j.written from asked join jobs j on j.job_id = asked.id
             where (asked.organization = '' or j.owner = asked.organization)
               and (asked.actor is null or j.actor = asked.actor);

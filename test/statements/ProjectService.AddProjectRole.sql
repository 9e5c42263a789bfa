with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, id text, key text)
)
select n, p.project_id as id, p.owner, p.version, p.created, p.changed,
               r.role_key as key, r.deleted is true as "isBeingDeleted"
             from asked join projects p on p.owner = asked.organization and p.project_id = asked.id
             left join lateral (
               select * from all_project_roles t where t.project_id = p.project_id and as_read(folded(t.role_key)) = as_read(folded(asked.key))
               order by t.deleted limit 1) r on true;

-- appends: facts/project.role_added.sql

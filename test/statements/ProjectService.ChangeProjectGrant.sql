with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, "grant" text, keys text[])
)
select n, g.project_grant_id as id, g.owner, g.version, g.created, g.changed,
               array(select r.role_key from project_grant_roles r
                     where r.project_grant_id = g.project_grant_id) as "roleKeys",
               array(select r.role_key from project_roles r
                     where r.project_id = p.project_id and r.role_key = any(asked.keys)) as known
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
             left join project_grants g
               on g.owner = p.owner and g.project_grant_id = asked."grant" and g.project_id = p.project_id;

-- appends: facts/project_grant.changed.sql

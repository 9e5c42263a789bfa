with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, name text)
)
select n, p.project_id as id, p.owner, p.name, p.grant_required as "grantRequired", p.version, p.created, p.changed,
               (select t.project_id from projects t
                where asked.name <> p.name and t.owner = asked.owner and as_read(folded(t.name)) = as_read(folded(asked.name))
                  and t.project_id <> asked.id limit 1) as "takenBy"
             from asked join projects p on p.owner = asked.owner and p.project_id = asked.id;

-- appends: facts/project.changed.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, name text, owner text)
)
select n, (select o.organization_id from organizations o
                where as_read(folded(o.name)) = as_read(folded(asked.name)) and not o.deleted limit 1) as "takenBy",
               exists (select from users u where u.user_id = asked.owner and (select not d.deleted from organizations d where d.organization_id = u.owner)) as "ownerExists" from asked;

-- appends: facts/organization.created.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, name text, owner text)
)
select n, (select o.organization_id from organizations o where o.name = asked.name) as "takenBy",
               exists (select from users u where u.user_id = asked.owner) as "ownerExists" from asked;

-- appends: facts/organization.created.sql

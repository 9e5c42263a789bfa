with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text, name text)
)
select n, o.organization_id as id, o.organization_id as owner, o.name, o.own_login_names as "ownLoginNames",
               o.requires_acceptance as "requiresAcceptance",
               o.version, o.created, o.changed,
               exists (select from organization_login_names l where l.owner = asked.id and l.own offset 0) as "hasOwnNames",
               (select t.organization_id from organizations t
                where asked.name <> o.name and as_read(folded(t.name)) = as_read(folded(asked.name))
                  and t.organization_id <> asked.id and not t.deleted limit 1) as "takenBy"
             from asked join organizations o on o.organization_id = asked.id and not o.deleted;

-- appends: facts/organization.changed.sql

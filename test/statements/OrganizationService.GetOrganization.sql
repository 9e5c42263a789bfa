with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, organization_id as id, organization_id as owner, name, active, own_login_names as "ownLoginNames",
               requires_acceptance as "requiresAcceptance", version, created, changed
             from asked join organizations on organization_id = asked.id and not deleted;

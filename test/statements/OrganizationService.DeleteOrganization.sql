with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, t.organization_id as id, t.organization_id as owner, t.active, t.version, t.created, t.changed,
               exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = 'instance' and o.scope_id = (select i.instance_id from instance i) and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and w.owner <> asked.id) as "ownersElsewhere"
             from asked join organizations t on t.organization_id = asked.id and not t.deleted;

-- appends: facts/organization.deleted.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, o.organization_id as id, o.organization_id as owner, o.version, o.created, o.changed,
               coalesce((select json_agg(json_build_object('key', m.key, 'value', m.value, 'shared', m.shared) order by m.key) from organization_metadata m
                 where m.organization_id = o.organization_id), '[]') as entries
             from asked join organizations o on o.organization_id = asked.id and not o.deleted;

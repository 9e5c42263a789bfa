with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.version, u.created, u.changed,
               coalesce((select json_agg(json_build_object('key', m.key, 'value', m.value, 'shared', m.shared) order by m.key) from user_metadata m
                 where m.user_id = u.user_id), '[]') as entries
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/user.metadata_set.sql

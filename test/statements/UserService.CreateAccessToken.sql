with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/access_token.created.sql

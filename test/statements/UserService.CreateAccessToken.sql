with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, now timestamptz)
)
select n, exists (
        select from access_tokens t where t.user_id = u.user_id and coalesce(t.expiration_date, 'infinity') > asked.now
        offset 999) as "isFull"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/access_token.created.sql

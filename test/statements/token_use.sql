with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, token_id text, time timestamptz)
)
update bearers b set last_used = asked.time from asked
      where b.token_id = asked.token_id and coalesce(b.last_used, '-infinity') <= asked.time - interval '1 hour' returning n;

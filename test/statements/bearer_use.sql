with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text, time timestamptz, origin jsonb)
)
update bearers b set last_used = asked.time, last_used_origin = asked.origin from asked
      where b.hash = decode(asked.hash, 'hex') and coalesce(b.last_used, '-infinity') <= asked.time - interval '1 hour' returning n;

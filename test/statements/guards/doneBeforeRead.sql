with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, caller text, operation text, key text)
)
select n, request, answer from asked join idempotency using (caller, operation, key);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, name text)
)
select n,
               (select d.domain_id from domains d where d.owner = asked.owner and d.name = asked.name) as "knownAs",
               (select d.owner from domains d where d.name = asked.name and d.proven) as holder,
               exists (select from domains d where d.owner = asked.owner offset 99) as "isFull"
             from asked;

-- appends: facts/domain.added.sql

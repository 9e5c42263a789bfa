with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, d.domain_id as id, d.owner, d.name, d.token, d.proven, d.without_dns as "withoutDns", d.verified,
  d.missing_since as "missingSince", d.version, d.created, d.changed,
  case when c.due < 'infinity' then c.due end as due, c.checked, c.result, c.answer from asked
             join domains d on d.owner = asked.owner and d.domain_id = asked.id join domain_checks c on c.domain_id = d.domain_id;

-- appends: facts/domain.removed.sql

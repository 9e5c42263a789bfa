with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, "user" text)
)
select n, f.factor_id as id, f.owner, f.user_id as "userId", f.kind, f.name, f.is_synced as "isSynced",
  f.last_used as "lastUsed", f.version, f.created, f.changed,
  (select count(*) from recovery_codes r where r.factor_id = f.factor_id)::integer as "codesLeft"
             from asked join factors f on f.user_id = asked."user" and f.owner = asked.owner order by n, f.factor_id;

-- appends: facts/factor.removed.sql

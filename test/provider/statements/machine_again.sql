with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash bytea, credential_id text, user_id text, organization text, project text, resource jsonb, scope text,
    jkt text, now timestamptz, ends timestamptz)
),
found as (
  select asked.* from asked
  cross join lateral (select from machine_proofs k where k.credential_id = asked.credential_id limit 1) k
  cross join lateral (select * from users where users.user_id = asked.user_id limit 1) u
  where (u.active and (select h.active from organizations h where h.organization_id = u.owner))
),
made as (
  insert into machine_tokens (hash, credential_id, user_id, organization_id, project_id, resource, scope,
    jkt, for_api, created, expiration_date)
  select hash, credential_id, user_id, organization, project, resource, scope, jkt, project is null, now, ends from found
)
select n from found;

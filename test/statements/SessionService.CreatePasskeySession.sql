with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, challenge text)
)
select n from asked join spent_challenges c on c.challenge = decode(asked.challenge, 'hex');

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, credential text)
)
select n, f.factor_id as id, f.owner, f.user_id as "userId", f.kind, f.name, f.is_synced as "isSynced",
  f.last_used as "lastUsed", f.version, f.created, f.changed,
  (select count(*) from recovery_codes r where r.factor_id = f.factor_id)::integer as "codesLeft", k.credential_id as "credentialId", k.public_key as "publicKey",
               k.user_handle as handle, k.counter, k.transports, p.changed::text as since
             from asked join passkeys k on k.credential_id = decode(asked.credential, 'hex')
             join factors f on f.factor_id = k.factor_id
             join users u on u.user_id = f.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
             left join passwords p on p.user_id = u.user_id;

-- appends: facts/factor.used_and_session.created.sql

select exists (select from sessions s where s.user_id = u.user_id offset $1) as "hasSurplus"
from users u left join passwords p using (user_id)
where u.user_id = $2 and p.changed::text is not distinct from $3::text and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
  and ($4::boolean or not exists (
    select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes' offset 0));

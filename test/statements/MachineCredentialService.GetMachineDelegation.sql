with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.kind, u.owner as "userOwner", u.version as "userVersion", u.created as "userCreated",
      u.changed as "userChanged", c.client_id as "clientId", m.credential_id as id, m.owner, m.user_id as "userId", m.jwk,
      m.access_token_type as "accessTokenType", m.expiration_date as "expirationDate", m.creator_id as "creatorId", m.version,
      m.created, m.changed, p.last_used as "lastUsed", p.last_used_origin as "lastUsedOrigin"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id
      left join machine_client_ids c on c.user_id = u.user_id
      left join machine_credentials m on m.user_id = u.user_id
      left join machine_proofs p on p.credential_id = m.credential_id
      order by n, m.credential_id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n, d.served as "servedResources", d.targets as "targetResources"
      from asked join machine_delegations d on d.user_id = asked.id;

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

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"machine_credential.created/0" as (insert into machine_credentials (owner, credential_id, user_id, kid, jwk, access_token_type, expiration_date, creator_id,
         version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', f.payload->'publicKey'->>'kid', f.payload->'publicKey',
         coalesce(f.payload->>'accessTokenType', 'OIDC_TOKEN_TYPE_BEARER'), (f.payload->>'expirationDate')::timestamptz, f.actor,
         f.version, f.time, f.time from (select * from facts where type = 'machine_credential.created') f),
"machine_credential.created/1" as (insert into machine_proofs (credential_id, hash) select i.stream, decode(i.secret->>'hash', 'hex') from (select * from input where type = 'machine_credential.created') i),
"user.client_id_assigned/0" as (update users t set version = f.version, changed = f.time
   from (select * from facts where type = 'user.client_id_assigned') f where t.owner = f.owner and t.user_id = f.stream),
"user.client_id_assigned/1" as (insert into machine_client_ids (client_id, owner, user_id) select f.payload->>'clientId', f.owner, f.stream from (select * from facts where type = 'user.client_id_assigned') f)
select 1;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n,
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and not exists (select from ended_roles e
      where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0)
  ), '[]'::jsonb) as memberships from asked join all_users u on u.user_id = asked.id;

select m.credential_id as id, m.owner, m.user_id as "userId", m.jwk,
    m.access_token_type as "accessTokenType", m.expiration_date as "expirationDate", m.creator_id as "creatorId", m.version,
    m.created, m.changed, p.last_used as "lastUsed", p.last_used_origin as "lastUsedOrigin" from machine_credentials m
left join machine_proofs p on p.credential_id = m.credential_id
where m.user_id = $1 order by m.credential_id;

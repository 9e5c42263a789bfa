with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, client_id text, now timestamptz)
)
select n, json_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'bringsDocument', a.is_document,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select json_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select json_agg(json_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client from asked join client_ids c on c.client_id = asked.client_id
    join applications a on a.app_id = c.app_id
    join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner;

with counted as (
      insert into device_attempts as a (key, minute, attempts) values ($1, $2, 1)
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < $3
      returning key
    ),
    waiting as materialized (
      select exists (select from device_codes where app_id = $4 and sign_on_id is null
        offset $5) as "isFull"
    ),
    made as (
      insert into device_codes
        (hash, device_id, user_code_mac, app_id, organization_id, scope, for_api, resources, poll_seconds, created, expiration_date)
      select $6, $7, $8, $9, $10, $11,
        $12::boolean, $13::text::jsonb, $14::integer, $15, $16 from counted, waiting where not "isFull"
      on conflict (user_code_mac) do nothing returning hash
    )
    select exists (select from counted) as "isCounted", "isFull", exists (select from made) as "isMade" from waiting;

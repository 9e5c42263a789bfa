with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, client_id text, now timestamptz)
)
select n, jsonb_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select jsonb_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select jsonb_agg(jsonb_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client from asked join client_ids c on c.client_id = asked.client_id
    join applications a on a.owner = c.owner and a.app_id = c.app_id
    join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hashes text[], app text, project text, organization text, now timestamptz)
)
select n, value.hash, b.session_id as "sessionId", b.user_id as "userId", u.owner, u.username, u.email,
        concat_ws(' ', u.given_name, u.family_name) as "displayName", b.auth_time as "authTime",
        b.expiration_date as "expirationDate",
        (select c.scopes from consents c where c.user_id = b.user_id and c.app_id = asked.app) as allowed,
        exists (select from projects p where p.project_id = asked.project and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner)
          or exists (select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id))
          and (asked.organization::text is null or asked.organization = u.owner or exists (
          select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id and g.owner = asked.organization))) as permitted
      from asked cross join unnest(asked.hashes) as value (hash)
      join browser_sessions b on b.hash = decode(value.hash, 'hex')
      join sessions s on s.session_id = b.session_id
      join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
      where b.idle_date > asked.now and b.expiration_date > asked.now;

with found as materialized (
      select b.session_id, b.user_id, coalesce($1, u.owner) as organization_id,
        (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner)
          or exists (select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id)) as permitted,
        (not $2::boolean or exists (
          select from consents c where c.user_id = b.user_id and c.app_id = $3
            and c.scopes @> string_to_array($4, ' '))) as allowed,
        ($5::text is null or $6 = u.owner or exists (
          select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id
            and g.owner = $7)) as reachable
      from browser_sessions b join sessions s on s.session_id = b.session_id
        join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
        join projects p on p.project_id = $8
      where b.session_id = $9 and b.expiration_date > $10
    ),
    kept as (
      update browser_sessions b set idle_date = $11 from found
      where b.session_id = found.session_id and b.idle_date < $12::timestamptz - interval '5 minutes'
    ),
    made as (
      insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, nonce, created, expiration_date)
      select $13, session_id, user_id, $14, organization_id, $15,
        $16, $17, $18 from found
      where permitted and allowed and reachable
      returning sign_on_id
    ),
    coded as (
      insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, expiration_date)
      select $19, sign_on_id, $20, $21,
        $22 from made where $23
    )
    select permitted, allowed, reachable from found;

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
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text, now timestamptz)
)
select n, b.session_id as "sessionId", b.user_id as "userId", u.username, b.auth_time as "authTime"
      from asked join browser_sessions b on b.hash = decode(asked.hash, 'hex')
      join sessions s on s.session_id = b.session_id
      join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
      where b.idle_date > asked.now and b.expiration_date > asked.now;

with found as materialized (
      select b.session_id, b.user_id, coalesce($1, u.owner) as organization_id,
        (case when p.grant_required
            then exists (select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id
              and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = '')
            else u.owner = p.owner
              or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner)
              or exists (select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id) end) as permitted,
        ($2::text is null or $3 = u.owner or exists (
          select from user_grants g where g.user_id = u.user_id and g.project_id = p.project_id
            and g.owner = $4)) as reachable
      from browser_sessions b join sessions s on s.session_id = b.session_id
        join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
        join projects p on p.project_id = $5
      where b.session_id = $6 and b.expiration_date > $7
    ),
    kept as (
      update browser_sessions b set idle_date = $8 from found
      where b.session_id = found.session_id and b.idle_date < $9::timestamptz - interval '5 minutes'
    ),
    made as (
      insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, nonce, created,
        expiration_date)
      select $10, session_id, user_id, $11, organization_id, $12, $13,
        $14, $15, $16 from found where permitted and reachable
      returning sign_on_id
    ),
    coded as (
      insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, expiration_date)
      select $17, sign_on_id, $18, $19,
        $20 from made where $21
    )
    select permitted, reachable from found;

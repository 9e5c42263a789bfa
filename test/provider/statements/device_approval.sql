with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text, now timestamptz)
)
select n, d.device_id as "deviceId", d.scope, d.organization_id as "organizationId",
      d.for_api as "forApi",      d.expiration_date as "expirationDate", jsonb_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select jsonb_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select jsonb_agg(jsonb_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client
      from asked join device_codes d on d.device_id = asked.id and d.sign_on_id is null and d.denied is null and d.expiration_date > asked.now
      join applications a on a.app_id = d.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hashes text[], app text, project text, organization text, now timestamptz)
)
select n, value.hash, b.session_id as "sessionId", b.user_id as "userId", u.owner, u.username, u.email,
        concat_ws(' ', u.given_name, u.family_name) as "displayName", b.auth_time as "authTime", b.methods,
        b.expiration_date as "expirationDate", exists (
          select from factors f where f.user_id = b.user_id and f.kind <> 'recovery_codes') as "hasFactor",
        (select c.scopes from consents c where c.user_id = b.user_id and c.app_id = asked.app) as allowed,
        exists (select from projects p where p.project_id = asked.project and (exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = '') or not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner)))
          and (coalesce(asked.organization, u.owner) = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.owner = coalesce(asked.organization, u.owner) and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = ''))) as permitted
      from asked cross join unnest(asked.hashes) as value (hash)
      join browser_sessions b on b.hash = decode(value.hash, 'hex')
      join sessions s on s.session_id = b.session_id
      join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
      where not s.enrolment_only and b.idle_date > asked.now and b.expiration_date > asked.now;

with device as materialized (
      select from device_codes where device_id = $1 and sign_on_id is null and denied is null
        and expiration_date > $2 for update
    ),
    found as materialized (
      select b.session_id, b.user_id, w.organization_id, (exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = '') or not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner))) as permitted,
        (not $3::boolean or c.consent_id is not null) as allowed, c.consent_id,
        (w.organization_id = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.owner = w.organization_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = '')) as reachable, exists (select from device) as is_waiting
      from browser_sessions b join sessions s on s.session_id = b.session_id and not s.enrolment_only
        join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
        cross join lateral (select coalesce($4::text, u.owner) as organization_id) w
        join projects p on p.project_id = $5
        left join consents c on $6::boolean and c.user_id = b.user_id and c.app_id = $7
          and c.scopes @> string_to_array($8, ' ')
      where b.session_id = $9 and b.expiration_date > $10
    ),
    kept as (
      update browser_sessions b set idle_date = $11 from found
      where b.session_id = found.session_id and b.idle_date < $12::timestamptz - interval '5 minutes'
    ),
    made as (
      insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, nonce, consent_id,
        created, expiration_date)
      select $13, session_id, user_id, $14, organization_id, $15, $16,
        $17, consent_id, $18, $19 from found
      where permitted and allowed and reachable and is_waiting
      returning sign_on_id, session_id, app_id
    ),
    served as (
      insert into session_applications (session_id, app_id, created)
      select session_id, app_id, $20 from made where $21 on conflict do nothing
    ),
    approved as (
      update device_codes d set sign_on_id = made.sign_on_id, user_code_mac = null from made where d.device_id = $22
    ),
    coded as (
      insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, expiration_date)
      select $23, sign_on_id, $24, $25,
        $26 from made where $27
    )
    select permitted, allowed, reachable, is_waiting as "isWaiting" from found;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, client_id text, now timestamptz, organization text)
)
select n, jsonb_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select jsonb_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select jsonb_agg(jsonb_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client, (
      select jsonb_build_object('organizationId', b.owner, 'name', coalesce(o.name, ''), 'accentColor', b.accent_color,
        'backgroundColor', b.background_color, 'darkAccentColor', b.dark_accent_color,
        'darkBackgroundColor', b.dark_background_color,
        'logoHash', (select l.hash from branding_logos l where l.owner = b.owner and l.hash = b.logo_hash)) from instance cross join brandings b
      left join organizations o on o.organization_id = b.owner and o.active and not o.deleted
      where b.owner in (a.owner, instance_id) or b.owner = asked.organization and exists (
        select from project_grants d where d.project_id = a.project_id and d.granted_organization_id = b.owner)
      order by b.owner = instance_id, b.owner = a.owner limit 1) as brand from asked join client_ids c on c.client_id = asked.client_id
    join applications a on a.owner = c.owner and a.app_id = c.app_id
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

with found as materialized (
      select b.session_id, b.user_id, w.organization_id, (exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = '') or not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner))) as permitted,
        (not $1::boolean or c.consent_id is not null) as allowed, c.consent_id,
        (w.organization_id = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.owner = w.organization_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not (
        select o.active from organizations o where o.organization_id = g.owner) then 'organization'
      else '' end
    from projects p join organizations h on h.organization_id = p.owner
    where p.project_id = g.project_id) = '')) as reachable
      from browser_sessions b join sessions s on s.session_id = b.session_id and not s.enrolment_only
        join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
        cross join lateral (select coalesce($2::text, u.owner) as organization_id) w
        join projects p on p.project_id = $3
        left join consents c on $4::boolean and c.user_id = b.user_id and c.app_id = $5
          and c.scopes @> string_to_array($6, ' ')
      where b.session_id = $7 and b.expiration_date > $8
    ),
    kept as (
      update browser_sessions b set idle_date = $9 from found
      where b.session_id = found.session_id and b.idle_date < $10::timestamptz - interval '5 minutes'
    ),
    made as (
      insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, nonce, consent_id,
        created, expiration_date)
      select $11, session_id, user_id, $12, organization_id, $13, $14,
        $15, consent_id, $16, $17 from found
      where permitted and allowed and reachable
      returning sign_on_id, session_id, app_id
    ),
    served as (
      insert into session_applications (session_id, app_id, created)
      select session_id, app_id, $18 from made where $19 on conflict do nothing
    ),
    coded as (
      insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, expiration_date)
      select $20, sign_on_id, $21, $22,
        $23 from made where $24
    )
    select permitted, allowed, reachable from found;

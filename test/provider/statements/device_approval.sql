with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text, now timestamptz)
)
select n, d.device_id as "deviceId", d.scope, d.organization_id as "organizationId",
      d.for_api as "forApi", case when d.resources is not null then (
        select json_agg((select json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false))
        from (select * from resource_uris u where u.href = k.key->>'href' and u.app_id = k.key->>'appId') r
        join applications y on y.app_id = r.app_id and (y.project_id = a.project_id) is true and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0)))) order by k.at)
        from jsonb_array_elements(d.resources) with ordinality k (key, at)) end as resources, d.expiration_date as "expirationDate", json_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'bringsDocument', a.is_document,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select json_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select json_agg(json_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client, (
      select json_build_object('organizationId', b.owner, 'name', coalesce(o.name, ''),
        'isDefault', b.owner = instance_id, 'accentColor', b.accent_color,
        'backgroundColor', b.background_color, 'darkAccentColor', b.dark_accent_color,
        'darkBackgroundColor', b.dark_background_color, 'productName', b.product_name, 'signInText', b.sign_in_text,
        'termsUri', b.terms_uri, 'privacyUri', b.privacy_uri, 'helpUri', b.help_uri,
        'logoHash', (select l.hash from branding_logos l where l.owner = b.owner and l.hash = b.logo_hash),
        'faviconHash', (select l.hash from branding_favicons l where l.owner = b.owner and l.hash = b.favicon_hash)) from instance cross join brandings b
      left join organizations o on o.organization_id = b.owner and o.active and not o.deleted
      where b.owner in (a.owner, instance_id) or b.owner = d.organization_id and exists (
        select from project_grants d where d.project_id = a.project_id and d.granted_organization_id = b.owner offset 0)
      order by b.owner = instance_id, b.owner = a.owner limit 1) as brand, h.name as "organizationName",
      (
  select p.owner from registration_policies p where p.owner = coalesce(d.organization_id, a.owner) and p.audience <> 'REGISTRATION_AUDIENCE_NOBODY') as "registersIn"
      from asked join device_codes d on d.device_id = asked.id and d.sign_on_id is null and d.denied is null and d.expiration_date > asked.now
      join applications a on a.app_id = d.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hashes text[], app text, project text, organization text, now timestamptz)
)
select n, value.hash, b.session_id as "sessionId", b.user_id as "userId", u.owner, u.username, u.email,
        case when coalesce((
        select d.owner from domains d where d.proven and d.name = substring(lower(normalize(u.username, nfkc)) from '@([^@]+)$')),
      case when not u.own_login_name then u.owner end) = u.owner
    then u.username
    else u.username || '@' || coalesce((
      select d.name from (
        select e.name, own.login_name || '@' || e.name as named
        from organization_login_names own join domains e on e.owner = own.owner and e.proven
        where own.owner = u.owner and own.user_id = u.user_id and own.own is not null
        order by e.proven_since, e.domain_id limit 1) d
      where not exists (select from organization_login_names o where o.owner = u.owner and o.login_name = d.named offset 0)
        and not exists (
          select from users v where v.owner = u.owner and lower(v.email) = d.named and (v.email_verified or v.email_setter <> v.user_id)
            and v.user_id <> u.user_id offset 0)), u.owner) end as "qualifiedName", (select h.name from organizations h where h.organization_id = u.owner) as organization,
        concat_ws(' ', u.given_name, u.family_name) as "displayName", b.auth_time as "authTime", b.methods,
        b.expiration_date as "expirationDate", exists (
          select from factors f where f.user_id = b.user_id and f.kind <> 'recovery_codes') as "hasFactor",
        (select c.scopes from consents c where c.user_id = b.user_id and c.app_id = asked.app) as allowed,
        exists (select from projects p where p.project_id = asked.project and (exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id) = '' offset 0) or not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0)))
          and (coalesce(asked.organization, u.owner) = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = coalesce(asked.organization, u.owner)) is true and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id) = '' offset 0))) as permitted
      from asked cross join unnest(asked.hashes) as value (hash)
      join browser_sessions b on b.hash = decode(value.hash, 'hex')
      join sessions s on s.session_id = b.session_id
      join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
      where not s.enrolment_only and b.idle_date > asked.now and b.expiration_date > asked.now;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, sign_on_id text, session_id text, app_id text, project_id text, organization text, scope text, for_api boolean,
    resources jsonb, needed text[], nonce text, now timestamptz, origin jsonb, idle timestamptz, ends timestamptz, consent boolean, code text, redirect_uri text, challenge text, jkt text,
    code_ends timestamptz, device_id text)
),
device as materialized (
  select device_id from asked join device_codes d using (device_id)
  where d.sign_on_id is null and d.denied is null and d.expiration_date > asked.now for update of d
),
found as materialized (
  select asked.*, b.user_id, w.organization_id, (exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id) = '' offset 0) or not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))) as permitted,
    (not asked.consent or c.consent_id is not null) as allowed, c.consent_id,
    (w.organization_id = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = w.organization_id) is true and g.active and (select case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end
    from projects p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where p.project_id = g.project_id) = '' offset 0)) as reachable, exists (select from device d where d.device_id = asked.device_id) as is_waiting
  from asked join browser_sessions b on b.session_id = asked.session_id and b.expiration_date > asked.now
    join sessions s on s.session_id = b.session_id and not s.enrolment_only
    join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
    cross join lateral (select coalesce(asked.organization, u.owner) as organization_id) w
    join projects p on p.project_id = asked.project_id
    left join lateral (
      select consent_id from consents where asked.consent and user_id = b.user_id and app_id = asked.app_id
        and scopes @> asked.needed for key share skip locked
    ) c on true
  order by b.session_id for key share of b skip locked
),
kept as (
  update browser_sessions b set idle_date = found.idle, last_used = found.now, last_used_origin = found.origin from found
  where b.session_id = found.session_id and b.idle_date < found.idle - interval '5 minutes'
),
made as (
  insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, resources, nonce, consent_id, created,
    expiration_date)
  select sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, resources, nonce, consent_id, now, ends from found
  where permitted and allowed and reachable and is_waiting
  returning sign_on_id
),
approved as (
  update device_codes d set sign_on_id = made.sign_on_id, user_code_mac = null
  from found join made using (sign_on_id) where d.device_id = found.device_id
)
select n, permitted, allowed, reachable, is_waiting as "isWaiting" from found;

with mine as (
      insert into device_attempts as a (key, minute, attempts) values ($1, $2, 1)
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < $3
      returning minute
    ),
    counted as (
      insert into device_attempts as a (key, minute, attempts) select $4, minute, 1 from mine
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < $5
      returning minute
    )
    select exists (select from counted) as "isCounted", (
      select d.device_id from device_codes d
      where d.user_code_mac in (select decode(m, 'hex') from unnest(string_to_array($6, ',')) m)
        and d.expiration_date > $7 and exists (select from counted)) as "deviceId";

update device_attempts set attempts = attempts - 1 where minute = $1 and key in ($2, $3);

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
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, domain text)
)
select n, case when r.organization is null then exists (select from sign_in_policies p where p.mail_codes)
               else coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in (r.organization, instance_id) order by q.owner = r.organization desc limit 1) p), false) end as offered
             from asked cross join lateral (
               select coalesce(asked.organization, (select d.owner from domains d where d.name = asked.domain and d.proven)) as organization
               offset 0) r;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, client_id text, now timestamptz, organization text)
)
select n, json_build_object(
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
      where b.owner in (a.owner, instance_id) or b.owner = asked.organization and exists (
        select from project_grants d where d.project_id = a.project_id and d.granted_organization_id = b.owner offset 0)
      order by b.owner = instance_id, b.owner = a.owner limit 1) as brand, h.name as "organizationName",
      (
  select p.owner from registration_policies p where p.owner = coalesce(asked.organization, a.owner) and p.audience <> 'REGISTRATION_AUDIENCE_NOBODY') as "registersIn" from asked join client_ids c on c.client_id = asked.client_id
    join applications a on a.app_id = c.app_id
    join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text, hrefs text[])
)
select n, (select json_agg((select json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false))
          from (select * from resource_uris u where u.href = w.href) r
          join applications y on y.app_id = r.app_id and (y.project_id = asked.id) is true and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0))) limit 1) order by w.at)
        from unnest(asked.hrefs) with ordinality w (href, at)) as resources from asked;

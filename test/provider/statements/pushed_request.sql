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

with counted as (
      insert into device_attempts as a (key, minute, attempts) select $1, $2, 1 where $3::boolean
      on conflict (key, minute) do update set attempts = a.attempts + 1 where a.attempts < $4
      returning key
    ),
    state as materialized (
      select not $5::boolean or exists (select from counted) as "isAllowed",
        exists (select from pushed_requests where app_id = $6 and expiration_date > $7
          offset $8) as "isFull"
    ),
    ended as (
      delete from pushed_requests where hash = any(array(
        select p.hash from pushed_requests p
        where $9::boolean and (select "isAllowed" and "isFull" from state)
          and p.app_id = $10 and p.expiration_date > $11
        order by p.expiration_date limit 1 for update skip locked))
    ),
    made as (
      insert into pushed_requests (hash, app_id, query, expiration_date)
      select $12, $13, $14, $15 from state
      where "isAllowed" and ($16::boolean or not "isFull")
    )
    select "isAllowed", "isFull" from state;

-- the next request

delete from pushed_requests r
    where r.hash = $1 and r.expiration_date > $2
      and (r.app_id = $3::text or exists (
        select from client_ids c where c.client_id = $4 and c.app_id = r.app_id offset 0))
    returning r.query;

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
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, organization text, domain text)
)
select n, case when r.organization is null then exists (select from sign_in_policies p where p.mail_codes)
               else coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in (r.organization, instance_id) order by q.owner = r.organization desc limit 1) p), false) end as offered
             from asked cross join lateral (
               select coalesce(asked.organization, (select d.owner from domains d where d.name = asked.domain and d.proven)) as organization
               offset 0) r;

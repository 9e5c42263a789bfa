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

with recursive named as (
      select b.session_id, b.user_id, b.earlier_session_id, b.expiration_date, value.place::integer as place, 0 as steps
      from unnest($1::text[]) with ordinality as value (hash, place)
        join browser_sessions b on b.hash = decode(value.hash, 'hex')
      union all
      select b.session_id, b.user_id, b.earlier_session_id, b.expiration_date, null, 0
      from browser_sessions b where b.session_id = $2
      union all
      select b.session_id, b.user_id, b.earlier_session_id, b.expiration_date, null, n.steps + 1
      from named n join browser_sessions b on b.session_id = n.earlier_session_id and n.steps < $3
    )
    select distinct on (n.session_id) n.session_id as id, s.owner, n.user_id as "userId", case when coalesce((
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
            and v.user_id <> u.user_id offset 0)), u.owner) end as "qualifiedName",
      s.version, s.created, s.changed,
      n.expiration_date as "expirationDate", n.place
    from named n join sessions s on s.session_id = n.session_id join users u on u.user_id = n.user_id
    order by n.session_id, n.place nulls last;

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
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false))
select 1;

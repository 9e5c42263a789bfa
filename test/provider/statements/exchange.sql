with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, client_id text, now timestamptz)
)
select n, u.user_id as "userId", u.owner, c.client_id as "clientId", coalesce((
      select json_agg(json_build_object('id', m.credential_id, 'hash', encode(k.hash, 'hex'), 'jwk', m.jwk,
        'isJwt', m.access_token_type = 'OIDC_TOKEN_TYPE_JWT', 'expires', floor(extract(epoch from m.expiration_date) * 1000),
        'lastUsed', floor(extract(epoch from k.last_used) * 1000))
        order by m.credential_id)
      from machine_credentials m cross join lateral (select * from machine_proofs p where p.credential_id = m.credential_id limit 1) k
      where m.user_id = u.user_id and coalesce(m.expiration_date, 'infinity') > asked.now), '[]') as credentials
      from asked cross join lateral (select * from machine_client_ids i where i.client_id = asked.client_id limit 1) c
      cross join lateral (select * from users where users.user_id = c.user_id limit 1) u where (u.active and (select h.active from organizations h where h.organization_id = u.owner));

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, now timestamptz, hash text)
)
select n, json_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'bringsDocument', a.is_document,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select json_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select json_agg(json_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client, json_build_object('scope', g.scope, 'isForResource', g.resource is not null,
      'resource', case when g.resource is not null then (select json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false))
        from (select * from resource_uris u where u.href = g.resource->>'href' and u.app_id = g.resource->>'appId') r
        join applications y on y.app_id = r.app_id and (y.project_id = (select x.project_id from applications x where x.app_id = o.app_id)) is true and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0)))) end, 'jkt', g.jkt, 'issuedAt', floor(extract(epoch from g.created)),
      'expiresAt', floor(extract(epoch from g.expiration_date)), 'end', (select json_build_object('signOnId', o.sign_on_id, 'userId', o.user_id,
        'userOwner', (select v.owner from browser_sessions v where v.session_id = o.session_id), 'appId', o.app_id,
        'clientId', x.client_id, 'sessionId', o.session_id, 'projectId', case when x.active then x.project_id end,
        'bringsDocument', x.is_document)
      from (select) one left join applications x on x.app_id = o.app_id), 'signOn', (select json_build_object(
      'signOnId', o.sign_on_id, 'sessionId', o.session_id, 'appId', o.app_id, 'projectId', p.project_id,
      'organizationId', o.organization_id, 'scope', o.scope, 'nonce', o.nonce, 'forApi', o.for_api,
      'resources', case when o.resources is not null then (
        select json_agg((select json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false))
        from (select * from resource_uris u where u.href = k.key->>'href' and u.app_id = k.key->>'appId') r
        join applications y on y.app_id = r.app_id and (y.project_id = p.project_id) is true and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0)))) order by k.at)
        from jsonb_array_elements(o.resources) with ordinality k (key, at)) end,
      'authTime', floor(extract(epoch from b.auth_time)), 'createdAt', floor(extract(epoch from o.created)),
      'methods', to_json(b.methods),
      'userId', u.user_id, 'userOwner', u.owner, 'qualifiedName', case when coalesce((
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
            and v.user_id <> u.user_id offset 0)), u.owner) end, 'givenName', u.given_name,
      'familyName', u.family_name, 'email', u.email, 'emailVerified', (u.email_verified and (u.owner = p.owner or u.email_verified and u.proven_email is not distinct from lower(u.email) or coalesce((select d.owner from domains d where d.proven and d.name = split_part(lower(u.email), '@', 2)) = u.owner, false))), 'phone', u.phone,
      'phoneVerified', u.phone_verified, 'address', u.address, 'language', u.language, 'updatedAt', floor(extract(epoch from u.changed)), 
      'roles', coalesce(own.roles, '[]'), 'allRoles',
      case when 'urn:postern:project:roles' = any(string_to_array(o.scope, ' ')) then everybody.roles end,
      'grantsEnd', (select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and g.active and not g.expiration_date <= now())) from browser_sessions b
    join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
    cross join lateral (select json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = '' and (g.owner = o.organization_id) is true) own
    cross join lateral (select coalesce(json_object_agg(held.owner, held.roles), '{}') as roles from (
        select g.owner, json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = ''
          and 'urn:postern:project:roles' = any(string_to_array(o.scope, ' '))
        group by g.owner) held) everybody
    where b.session_id = o.session_id and (exists (select from user_grants g
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
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))) and (o.organization_id = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = o.organization_id) is true and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = '' offset 0))
      and (b.expiration_date <= asked.now or exists (select from sessions s where s.session_id = b.session_id offset 0)))) as found
      from asked join sign_on_tokens g on g.hash = decode(asked.hash, 'hex') and g.expiration_date > asked.now
      join sign_ons o on o.sign_on_id = g.sign_on_id
      join applications a on a.app_id = o.app_id
      join projects p on p.project_id = a.project_id join organizations h on h.organization_id = a.owner;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, machine_id text, served jsonb)
)
select n from asked join machine_delegations d on d.user_id = asked.machine_id
      and d.served @> jsonb_build_array(asked.served);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, sign_on_id text, machine_id text, acted text[], served jsonb, href text, now timestamptz)
)
select asked.n, signed.value as "signOn", machine.client_id as "clientId", p.project_id as "projectId", target.resource,
      coalesce((select json_agg(r.role order by r.role) from (
        select held.role from (
          select machine.roles union all select subject.roles union all select json_array_elements(earlier.held)) l (roles)
        cross join lateral json_array_elements_text(l.roles) held (role)
        group by held.role having count(*) = cardinality(k.acted) + 2) r), '[]') as roles, least(machine.ends, subject.ends, earlier.ends)::float8 as "grantsEnd", coalesce((select (a.user_id, a.app_id, a.machine_id, a.api_id) = (o.user_id, o.app_id, k.machine_id, target.resource->>'appId') and a.expiration_date > asked.now
        from acting_machines a where (a.user_id, a.app_id, a.machine_id, a.api_id) >= (o.user_id, o.app_id, k.machine_id, target.resource->>'appId') order by a.user_id, a.app_id, a.machine_id, a.api_id limit 1), false) as "hasActed"
      from asked cross join lateral (select asked.sign_on_id, asked.machine_id, asked.acted, asked.served, asked.href) k
      join sign_ons o on o.sign_on_id = k.sign_on_id
      join machine_delegations d on d.user_id = k.machine_id
      cross join lateral (select y.project_id, json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false)) as resource
        from (select * from resource_uris u where u.href = k.served->>'href') r
        join applications y on y.app_id = r.app_id and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0))) limit 1) served
      cross join lateral (select y.project_id, json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false)) as resource
        from (select * from resource_uris u where u.href = k.href) r
        join applications y on y.app_id = r.app_id and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0))) limit 1) target
      join projects p on p.project_id = target.project_id
      join organizations h on h.organization_id = p.owner
      cross join lateral (select (select json_build_object(
      'signOnId', o.sign_on_id, 'sessionId', o.session_id, 'appId', o.app_id, 'projectId', p.project_id,
      'organizationId', o.organization_id, 'scope', o.scope, 'nonce', o.nonce, 'forApi', o.for_api,
      'resources', case when o.resources is not null then (
        select json_agg((select json_build_object('appId', r.app_id, 'name', y.name, 'uri', r.uri, 'href', r.href,
          'isJwt', coalesce(y.api->>'accessTokenType' = 'OIDC_TOKEN_TYPE_JWT', false),
          'algorithm', case y.api->>'accessTokenAlgorithm' when 'ACCESS_TOKEN_ALGORITHM_ES256' then 'ES256' else 'RS256' end,
          'scopes', coalesce(y.api->'scopes', '[]'),
          'acceptsDocuments', coalesce((y.api->>'acceptsClientDocuments')::boolean, false))
        from (select * from resource_uris u where u.href = k.key->>'href' and u.app_id = k.key->>'appId') r
        join applications y on y.app_id = r.app_id and (y.project_id = p.project_id) is true and y.active where (r.given or (
          r.owner = (select d.owner from domains d where d.name = any(r.names) and d.proven
            order by length(d.name) desc limit 1)
          and not exists (select from resource_uris g where g.href = r.href and g.given offset 0)))) order by k.at)
        from jsonb_array_elements(o.resources) with ordinality k (key, at)) end,
      'authTime', floor(extract(epoch from b.auth_time)), 'createdAt', floor(extract(epoch from o.created)),
      'methods', to_json(b.methods),
      'userId', u.user_id, 'userOwner', u.owner, 'qualifiedName', case when coalesce((
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
            and v.user_id <> u.user_id offset 0)), u.owner) end, 'givenName', u.given_name,
      'familyName', u.family_name, 'email', u.email, 'emailVerified', (u.email_verified and (u.owner = p.owner or u.email_verified and u.proven_email is not distinct from lower(u.email) or coalesce((select d.owner from domains d where d.proven and d.name = split_part(lower(u.email), '@', 2)) = u.owner, false))), 'phone', u.phone,
      'phoneVerified', u.phone_verified, 'address', u.address, 'language', u.language, 'updatedAt', floor(extract(epoch from u.changed)), 
      'roles', coalesce(own.roles, '[]'), 'allRoles',
      case when 'urn:postern:project:roles' = any(string_to_array(o.scope, ' ')) then everybody.roles end,
      'grantsEnd', (select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and g.active and not g.expiration_date <= now())) from browser_sessions b
    join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
    cross join lateral (select json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = '' and (g.owner = o.organization_id) is true) own
    cross join lateral (select coalesce(json_object_agg(held.owner, held.roles), '{}') as roles from (
        select g.owner, json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = ''
          and 'urn:postern:project:roles' = any(string_to_array(o.scope, ' '))
        group by g.owner) held) everybody
    where b.session_id = o.session_id and (exists (select from user_grants g
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
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))) and (o.organization_id = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = o.organization_id) is true and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = '' offset 0))
      and (b.expiration_date <= asked.now or exists (select from sessions s where s.session_id = b.session_id offset 0))) as value, a.is_document from applications a
        join projects p on p.project_id = a.project_id join organizations h on h.organization_id = p.owner
        where a.app_id = o.app_id and a.active and p.active and h.active offset 0) signed
      cross join lateral (select c.client_id, coalesce(own.roles, '[]') as roles, (select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and g.active and not g.expiration_date <= now()) as ends
        from users u join machine_client_ids c on c.user_id = u.user_id
        cross join lateral (select u.owner as organization_id) o
        cross join lateral (select json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = '' and (g.owner = o.organization_id) is true) own
        where u.user_id = k.machine_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner)) and exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = u.owner) is true and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = '' offset 0)) machine
      cross join lateral (select coalesce(own.roles, '[]') as roles, (select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and g.active and not g.expiration_date <= now()) as ends
        from users u cross join lateral (select json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = '' and (g.owner = o.organization_id) is true) own
        where u.user_id = o.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner)) and (exists (select from user_grants g
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
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))) and (o.organization_id = u.owner or exists (select from user_grants g
            where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = o.organization_id) is true and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = '' offset 0))) subject
      cross join lateral (select coalesce(json_agg(coalesce(own.roles, '[]')), '[]') as held, min((select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and g.active and not g.expiration_date <= now())) as ends
        from unnest(k.acted) a (machine_id)
        cross join lateral (select * from users where users.user_id = a.machine_id limit 1) u
        cross join lateral (select u.owner as organization_id) o
        cross join lateral (select json_agg(distinct r.role_key order by r.role_key) as roles from user_grants g join user_grant_roles r on r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
          where g.user_id = u.user_id and g.project_id = p.project_id and g.active and case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end = '' and (g.owner = o.organization_id) is true) own
        where (u.active and (select h.active from organizations h where h.organization_id = u.owner))) earlier
      where signed.value is not null and served.resource->>'appId' = k.served->>'appId'
      and d.served @> jsonb_build_array(jsonb_build_object('appId', served.resource->>'appId', 'uri', served.resource->>'uri')) and d.targets @> jsonb_build_array(jsonb_build_object('appId', target.resource->>'appId', 'uri', target.resource->>'uri'));

with used as (
      update machine_proofs k set last_used = $1, last_used_origin = $2::text::jsonb
      where k.credential_id = $3 and coalesce(k.last_used, '-infinity') <= $4::timestamptz - interval '1 hour'
    )
    insert into acting_machines as a (user_id, app_id, machine_id, api_id, first_used, last_used, expiration_date)
    select o.user_id, o.app_id, $5, $6, $7::timestamptz, $8::timestamptz,
      $9::timestamptz + $10 * interval '1 day' from sign_ons o where o.sign_on_id = $11
    on conflict (user_id, app_id, machine_id, api_id) do update
      set last_used = excluded.last_used, expiration_date = excluded.expiration_date
      where a.last_used <= excluded.last_used - interval '1 hour';

with held as materialized (
      select o.sign_on_id from sign_ons o where o.sign_on_id = $1 for key share
    ),
    surplus as (
      delete from exchanged_tokens where hash = any(array(
        select x.hash from exchanged_tokens x where x.hash = any(array(
          select o.hash from held cross join lateral (
            select y.hash from exchanged_tokens y where y.sign_on_id = held.sign_on_id
            order by y.created desc offset $2 limit 10) o))
        for update skip locked))
    )
    insert into exchanged_tokens (hash, subject, sign_on_id, user_id, credential_id, acted, served, resource, scope, created,
      expiration_date)
    select $3, $4, sign_on_id, $5, $6, $7,
      $8::text::jsonb, $9::text::jsonb, $10, $11, $12 from held;

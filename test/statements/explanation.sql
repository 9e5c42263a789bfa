with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, project text, app text, "user" text, organization text, now timestamptz)
)
select n, json_build_object(
      'appId', a.app_id, 'clientId', a.client_id, 'name', a.name, 'owner', a.owner, 'projectId', a.project_id, 'oidc', a.oidc,
      'bringsDocument', a.is_document,
      'active', a.active and p.active and h.active and not h.deleted,
      'secrets', coalesce((select json_agg(encode(s.hash, 'hex')) from client_secrets s
        where s.app_id = a.app_id and (s.expiration_date is null or s.expiration_date > asked.now)), '[]'),
      'keys', coalesce((select json_agg(json_build_object('jwk', k.jwk, 'jwksUri', k.jwks_uri))
        from application_keys k where k.app_id = a.app_id), '[]')) as client, a.is_api as "isApi", a.active as "isApplicationActive", p.active as "isProjectActive",
      h.active as "isOrganizationActive", p.grant_required as "grantRequired", u.owner as "userOwner",
      (select d.project_grant_id from project_grants d
       where d.project_id = p.project_id and d.granted_organization_id = u.owner) as "projectGrantId",
      u.user_id is not null and (exists (select from user_grants g
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
      u.user_id is not null and (coalesce(asked.organization, u.owner) = u.owner or exists (select from user_grants g
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
    where p.project_id = g.project_id) = '' offset 0)) as reachable,
      (select c.scopes from consents c where c.user_id = u.user_id and c.app_id = a.app_id) as allowed,
      coalesce((
      select json_agg(json_build_object('id', g.user_grant_id, 'owner', g.owner, 'projectGrantId', g.project_grant_id,
        'active', g.active, 'shutIn', g.shut_in, 'ends', g.expiration_date, 'roleKeys', coalesce((
          select json_agg(r.role_key order by r.role_key) from user_grant_roles r
          where r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)), '[]')) order by g.user_grant_id)
      from (
        select g.*, case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end as shut_in from user_grants g
        where g.user_id = asked."user" and g.project_id = p.project_id and not exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0)
        order by g.user_grant_id limit 100) g), '[]') as grants
    from asked join projects p on p.owner = asked.owner and p.project_id = asked.project
    join applications a on a.app_id = asked.app and (a.owner = p.owner and a.project_id = p.project_id) is true
    join organizations h on h.organization_id = a.owner
    left join users u on u.user_id = asked."user" and (select not d.deleted from organizations d where d.organization_id = u.owner);

select wait_until as until from sign_in_failures where subject = $1 and wait_until > $2;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.kind, (u.active and (select h.active from organizations h where h.organization_id = u.owner)) as active, u.locked, u.locked_until as "lockedUntil",
  jsonb_build_array(u.username, u.given_name, u.family_name, u.email) as names, p.hash, p.changed::text as since,
  p.changed as "setAt", p.set_by_administrator as "setByAdministrator", p.must_change as "mustChange", u.requires_factor as "requiresFactor",
  coalesce((select jsonb_agg(h.hash order by h.changed desc) from password_history h where h.user_id = u.user_id), '[]')
    as history,
  coalesce((select a.locks from password_attempts a where a.user_id = u.user_id), 0) as locks,
  coalesce((select jsonb_agg(distinct f.kind) from factors f where f.user_id = u.user_id), '[]') as "factorKinds",
  exists (select from members m where m.user_id = u.user_id) as "isAdministrator",
  (
  select case when exists (select from members m where m.user_id = u.user_id and m.scope = 'instance')
    then (select jsonb_build_object(
      'requiresUpper', (o.policy->>'requiresUpper')::boolean or (i.policy->>'requiresUpper')::boolean, 'requiresLower', (o.policy->>'requiresLower')::boolean or (i.policy->>'requiresLower')::boolean, 'requiresDigit', (o.policy->>'requiresDigit')::boolean or (i.policy->>'requiresDigit')::boolean, 'requiresSymbol', (o.policy->>'requiresSymbol')::boolean or (i.policy->>'requiresSymbol')::boolean,
      'changeAtNextSignIn', (o.policy->>'changeAtNextSignIn')::boolean or (i.policy->>'changeAtNextSignIn')::boolean, 'resetRequiresVerifiedEmail', (o.policy->>'resetRequiresVerifiedEmail')::boolean or (i.policy->>'resetRequiresVerifiedEmail')::boolean, 'untilUnlocked', (o.policy->>'untilUnlocked')::boolean or (i.policy->>'untilUnlocked')::boolean,
      'minimumLength', greatest((o.policy->>'minimumLength')::numeric, (i.policy->>'minimumLength')::numeric), 'historyDepth', greatest((o.policy->>'historyDepth')::numeric, (i.policy->>'historyDepth')::numeric),
      'maximumAgeDays', coalesce(least(nullif((o.policy->>'maximumAgeDays')::integer, 0), nullif((i.policy->>'maximumAgeDays')::integer, 0)), 0), 'maximumAttempts', coalesce(least(nullif((o.policy->>'maximumAttempts')::integer, 0), nullif((i.policy->>'maximumAttempts')::integer, 0)), 0), 'lockSeconds', case when (o.policy->>'lockSeconds')::numeric + (i.policy->>'lockSeconds')::numeric is not null then greatest((o.policy->>'lockSeconds')::numeric,(i.policy->>'lockSeconds')::numeric) end,
      'leastLockSeconds', greatest((o.policy->>'lockSeconds')::numeric,(i.policy->>'lockSeconds')::numeric),
      'factorRequirement', (select r from unnest('{FACTOR_REQUIREMENT_OFF,FACTOR_REQUIREMENT_OPTIONAL,FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS,FACTOR_REQUIREMENT_REQUIRED}'::text[]) with ordinality as r (r, strictness)
        where r in (o.policy->>'factorRequirement', i.policy->>'factorRequirement') order by strictness desc limit 1)) from (select (
  select jsonb_build_object(
    'minimumLength', coalesce(p.minimum_length, 8),
    'requiresUpper', coalesce(p.requires_upper, true),
    'requiresLower', coalesce(p.requires_lower, true),
    'requiresDigit', coalesce(p.requires_digit, true),
    'requiresSymbol', coalesce(p.requires_symbol, true),
    'historyDepth', coalesce(p.history_depth, 0),
    'changeAtNextSignIn', coalesce(p.change_at_next_sign_in, false),
    'maximumAgeDays', coalesce(p.maximum_age_days, 0),
    'resetRequiresVerifiedEmail', coalesce(p.reset_requires_verified_email, false),
    'maximumAttempts', coalesce(l.maximum_attempts, 10),
    'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, false),
    'factorRequirement', coalesce(f.requirement, 'FACTOR_REQUIREMENT_OPTIONAL'))
  from instance
    left join lateral (select q.* from password_policies q where q.owner in (instance_id, instance_id) order by q.owner = instance_id desc limit 1) p on true
    left join lateral (select q.* from lockout_policies q where q.owner in (instance_id, instance_id) order by q.owner = instance_id desc limit 1) l on true
    left join lateral (select q.* from factor_policies q where q.owner in (instance_id, instance_id) order by q.owner = instance_id desc limit 1) f on true) as policy offset 0) i)
    else o.policy end
  from (select (
  select jsonb_build_object(
    'minimumLength', coalesce(p.minimum_length, 8),
    'requiresUpper', coalesce(p.requires_upper, true),
    'requiresLower', coalesce(p.requires_lower, true),
    'requiresDigit', coalesce(p.requires_digit, true),
    'requiresSymbol', coalesce(p.requires_symbol, true),
    'historyDepth', coalesce(p.history_depth, 0),
    'changeAtNextSignIn', coalesce(p.change_at_next_sign_in, false),
    'maximumAgeDays', coalesce(p.maximum_age_days, 0),
    'resetRequiresVerifiedEmail', coalesce(p.reset_requires_verified_email, false),
    'maximumAttempts', coalesce(l.maximum_attempts, 10),
    'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, false),
    'factorRequirement', coalesce(f.requirement, 'FACTOR_REQUIREMENT_OPTIONAL'))
  from instance
    left join lateral (select q.* from password_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) p on true
    left join lateral (select q.* from lockout_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) l on true
    left join lateral (select q.* from factor_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) f on true) as policy offset 0) o) as policy, u.version, u.created, u.changed, u.active as "isItselfActive", (u.kind = 'human' and (u.active and (select h.active from organizations h where h.organization_id = u.owner)) and u.email_verified and u.proven_email is not distinct from lower(u.email) and (coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) p), false) and (
  coalesce((
  select p.mail_codes from instance cross join lateral (select q.* from sign_in_policies q where q.owner in ((select instance_id from instance), instance_id) order by q.owner = (select instance_id from instance) desc limit 1) p), false)
  or not exists (select from members m where m.user_id = u.user_id and m.scope = 'instance' offset 0)))) as "takesMailCodes",
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
            and v.user_id <> u.user_id offset 0)), u.owner) end as "qualifiedName"
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join passwords p on p.user_id = u.user_id;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, user_id text, app_id text, project_id text, organization text, scope text, methods text[], now timestamptz)
)
select n, (select json_build_object(
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
        where g.user_id = u.user_id and g.project_id = p.project_id and g.active and not g.expiration_date <= now())) from (
        select asked.user_id, asked.now as auth_time, asked.methods) b
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
    where (exists (select from user_grants g
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
    where p.project_id = g.project_id) = '' offset 0))) as "signOn"
      from asked join projects p on p.project_id = asked.project_id join organizations h on h.organization_id = p.owner
      cross join lateral (
        select '' as sign_on_id, '' as session_id, asked.app_id, asked.scope, null::text as nonce, false as for_api, null::jsonb as resources,
          asked.now as created, coalesce(asked.organization, v.owner) as organization_id
        from users v where v.user_id = asked.user_id) o;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, user_id text, user_keys text[], of_user boolean, organization_id text, organization_keys text[],
    of_organization boolean)
)
select n, coalesce((select json_agg(json_build_array(m.key, m.value)) from user_metadata m
      where m.user_id = asked.user_id and m.key = any(asked.user_keys) and (m.shared or asked.of_user)), '[]') as "user",
    coalesce((select json_agg(json_build_array(m.key, m.value)) from organization_metadata m
      where m.organization_id = asked.organization_id and m.key = any(asked.organization_keys) and (m.shared or asked.of_organization)), '[]') as "organization"
    from asked;

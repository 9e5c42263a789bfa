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

-- the next request

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
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text, organization text, address text, local_part text, domain text, nobody text, browsers text, now timestamptz)
)
select n, f.subject, l.user_id as "userId", l.owner, k.hash as known,
               s.wait_until as "waitUntil", (
  select jsonb_build_object('maximumAttempts', coalesce(l.maximum_attempts, 10),
    'lockSeconds', l.lock_seconds, 'untilUnlocked', coalesce(l.until_unlocked, false)) from instance left join lockout_policies l on l.owner = instance_id) as lockout
             from asked join lateral (
    select found.who[1] as user_id, found.who[2] as owner, r.organization
    from (
      select coalesce(asked.organization, h.owner) as organization,
        coalesce(h.owner = coalesce(asked.organization, h.owner), false) as is_holder
      from (select (select d.owner from domains d where d.name = asked.domain and d.proven) as owner offset 0) h offset 0
    ) r
    left join lateral (
      select d.user_id, d.owner from login_names d where r.organization is null and d.login_name = asked.login_name
      union all
      select o.user_id, o.owner from organization_login_names o
      where o.owner = r.organization and o.login_name = asked.login_name
    ) n on true
    cross join lateral (
      select count(*) as found, min(one.user_id) as user_id, min(one.owner) as owner from (
      select u.user_id, u.owner from users u
      where r.organization is null and u.proven_email = asked.address and u.email_verified and u.proven_email is not distinct from lower(u.email)
      union all
      select u.user_id, u.owner from users u
      where not r.is_holder and u.proven_email = asked.address and u.owner = r.organization and u.email_verified and u.proven_email is not distinct from lower(u.email)
      union all
      select u.user_id, u.owner from users u
      where r.is_holder and u.owner = r.organization and lower(u.email) = asked.address and (u.email_verified or u.email_setter <> u.user_id)
      limit 2
      ) one
    ) a
    left join lateral (
      select o.user_id, o.owner from organization_login_names o
      where r.is_holder and o.owner = r.organization and o.login_name = asked.local_part
    ) q on true
    cross join lateral (
      select case
        when n.user_id is not null then array[n.user_id, n.owner]
        when a.found = 1 then array[a.user_id, a.owner]
        when a.found = 0 then array[q.user_id, q.owner]
      end as who
    ) found) l on true
             cross join lateral (
               select coalesce(l.user_id, asked.nobody || coalesce('.' || l.organization, '')) as subject offset 0) f
             left join sign_in_failures s on s.subject = f.subject
             left join lateral (
  select encode(k.hash, 'hex') as hash from unnest(string_to_array(asked.browsers, ' ')) as value
  join known_browsers k on k.hash = decode(value, 'hex')
  left join passwords p on p.user_id = k.user_id
  where k.user_id = l.user_id and k.since is not distinct from p.changed and k.expiration_date > asked.now
  limit 1) k on true;

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
    left join lateral (select q.* from factor_policies q where q.owner in (u.owner, instance_id) order by q.owner = u.owner desc limit 1) f on true) as policy offset 0) o) as policy, u.version, u.created, u.changed
             from asked join users u on u.owner = asked.owner and u.user_id = asked.id
             left join passwords p on p.user_id = u.user_id;

insert into password_attempts as a (user_id, attempts, allowed) values ($1, 1, $2)
    on conflict (user_id) do update set allowed = excluded.allowed,
      attempts = case when a.attempts = $3 then 1 else least(a.attempts + 1, excluded.allowed) end
    where a.attempts < excluded.allowed or ($4 and a.attempts = $5)
      or (a.allowed is distinct from excluded.allowed and a.attempts < $6)
    returning attempts;

with cleared as (delete from password_attempts where user_id = $1)
  delete from sign_in_failures where subject = $2 and (wait_until is null or wait_until <= $3);

select wait_until as until from sign_in_failures where subject = $1 and wait_until > $2;

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
"session.created/0" as (insert into sessions (owner, session_id, user_id, expiration_date, amr, enrolment_only, origin, version, created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz, case when jsonb_array_length(coalesce(f.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(f.payload->'amr')) end,
         coalesce((f.payload->>'enrolmentOnly')::boolean, false), f.origin, f.version, f.time, f.time from (select * from facts where type = 'session.created') f),
"session.created/1" as (insert into bearers (hash, owner, user_id, session_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from (select * from input where type = 'session.created') i where i.secret->>'hash' is not null),
"session.created/2" as (insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date,
         earlier_session_id)
       select i.stream, i.owner, i.payload->>'userId', decode(i.secret->>'cookie', 'hex'), i.time,
         case when jsonb_array_length(coalesce(i.payload->'amr', '[]')) = 0 then '{pwd}'
  else array(select jsonb_array_elements_text(i.payload->'amr')) end, (i.secret->>'idleDate')::timestamptz,
         (i.payload->>'expirationDate')::timestamptz,
         (select e.session_id from jsonb_array_elements_text(i.secret->'earlier') as value (hash)
          join browser_sessions e on e.hash = decode(value.hash, 'hex') and e.user_id = i.payload->>'userId'
          order by e.auth_time desc limit 1)
       from (select * from input where type = 'session.created') i where i.secret->>'cookie' is not null),
"session.created/3" as (insert into spent_challenges (challenge, expiration_date)
       select convert_to(i.secret->'usedCode'->>'id', 'utf8'), (i.secret->'usedCode'->>'until')::timestamptz
       from (select * from input where type = 'session.created') i where i.secret->'usedCode' is not null),
"session.created/4" as (delete from mail_codes c using (select * from input where type = 'session.created') i where c.mail_code_id = i.secret->'usedCode'->>'id'),
"session.created/5" as (update passwords p set sign_ins = p.sign_ins + 1, last_sign_in = checked.time, hash = coalesce(checked.rehashed, p.hash),
     imported = p.imported and checked.rehashed is null
   from (
     select q.user_id, i.time, i.secret->>'rehashed' as rehashed from (select * from input where type = 'session.created') i join passwords q on q.user_id = i.payload->>'userId'
     where q.changed::text = i.secret->>'since' order by q.user_id for update of q
   ) checked where p.user_id = checked.user_id)
select 1;

select exists (select from sessions s where s.user_id = u.user_id offset $1) as "hasSurplus"
    from users u left join passwords p using (user_id)
    where u.user_id = $2 and p.changed::text is not distinct from $3::text and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
      and ($4::boolean or not exists (
        select from factors f where f.user_id = u.user_id and f.kind <> 'recovery_codes' offset 0));

with proven as (
      select u.user_id, p.changed as since from users u left join passwords p using (user_id)
      where u.user_id = $1 and ($2::timestamptz is null or p.changed = $3)
        and ($4::text is null or exists (
          select from browser_sessions b where b.session_id = $5 and b.user_id = $6 offset 0))
    ),
    replaced as (
      delete from known_browsers where user_id = $7
        and hash in (select decode(value, 'hex') from unnest(string_to_array($8, ',')) as value)
      returning hash, expiration_date
    ),
    surplus as (
      delete from known_browsers where hash in (
        select hash from known_browsers where user_id = $9 order by created desc offset $10)
    ),
    remembered as (
      insert into known_browsers (hash, user_id, since, created, expiration_date)
      select decode($11, 'hex'), user_id, since, $12, $13 from proven
    ),
    told as (
      select 0 as n, u.owner, u.user_id as stream, $14::timestamptz as time,
        jsonb_build_object('notice', $15::text::jsonb) as secret
      from proven join users u using (user_id)
      where $16::text is not null and not exists (select from replaced where expiration_date > $17)
        and exists (select from known_browsers k where k.user_id = $18 offset 0)
    ),
    mailed as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select d.notice->>'id', d.owner, d.user_id, d.notice->>'kind', d.email, coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = d.user_id), d.notice->>'language'),
     decode(d.notice->>'sealed', 'hex'), (d.notice->>'expirationDate')::timestamptz, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from told i cross join lateral (select i.secret->'notice' as notice) m
  join users u on u.user_id = i.stream and u.email_verified
  where m.notice is not null and not exists (
      select from mail_sends s where (s.user_id, s.purpose, s.time)
        between (u.user_id, m.notice->>'kind', (m.notice->>'userSince')::timestamptz)
          and (u.user_id, m.notice->>'kind', timestamptz 'infinity')
      offset (m.notice->>'mostToUser')::integer - 1)
    and not exists (
      select from mail_sends s where s.email = lower(u.email) and s.purpose = m.notice->>'kind'
        and s.time > (m.notice->>'since')::timestamptz
      offset (m.notice->>'mostToAddress')::integer - 1)) d),
    counted as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(d.email), d.notice->>'kind', (extract(epoch from d.time) * 1000)::bigint * 1000 + d.n, d.user_id, d.time
   from (
  select i.n, i.owner, i.time, u.user_id, u.email, m.notice
  from told i cross join lateral (select i.secret->'notice' as notice) m
  join users u on u.user_id = i.stream and u.email_verified
  where m.notice is not null and not exists (
      select from mail_sends s where (s.user_id, s.purpose, s.time)
        between (u.user_id, m.notice->>'kind', (m.notice->>'userSince')::timestamptz)
          and (u.user_id, m.notice->>'kind', timestamptz 'infinity')
      offset (m.notice->>'mostToUser')::integer - 1)
    and not exists (
      select from mail_sends s where s.email = lower(u.email) and s.purpose = m.notice->>'kind'
        and s.time > (m.notice->>'since')::timestamptz
      offset (m.notice->>'mostToAddress')::integer - 1)) d
   on conflict (email, purpose, n) do nothing)
    select coalesce((select array_agg(encode(hash, 'hex')) from replaced), '{}') as replaced,
      exists (select from replaced where expiration_date > $19) as "wasKnown";

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, sign_on_id text, session_id text, app_id text, project_id text, organization text, scope text, for_api boolean,
    resources jsonb, needed text[], nonce text, now timestamptz, origin jsonb, idle timestamptz, ends timestamptz, consent boolean, code text, redirect_uri text, challenge text, jkt text,
    code_ends timestamptz, device_id text)
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
    where p.project_id = g.project_id) = '' offset 0)) as reachable
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
  where permitted and allowed and reachable
  returning sign_on_id
),
served as (
  insert into session_applications (session_id, app_id, created)
  select session_id, app_id, now from found join made using (sign_on_id) where code is null on conflict do nothing
),
coded as (
  insert into authorization_codes (hash, sign_on_id, redirect_uri, challenge, jkt, expiration_date)
  select decode(code, 'hex'), sign_on_id, redirect_uri, challenge, jkt, code_ends
  from found join made using (sign_on_id) where code is not null
)
select n, permitted, allowed, reachable from found;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text)
)
select n, u.user_id as "userId", u.owner as organization, b.session_id as "sessionId", b.token_id as "tokenId",
               b.expires, b.enrolment_only as "enrolmentOnly", b.permissions, b.application, b.last_used as "lastUsed",
               b.console_session_id as "consoleSessionId", b.machine_credential_id as "machineCredentialId",
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and not exists (select from ended_roles e
      where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0) and not exists (select from organizations d where d.organization_id = m.owner and not d.active)
  ), '[]'::jsonb) as memberships
             from asked join lateral (
  select b.user_id, s.session_id, t.token_id, coalesce(s.expiration_date, t.expiration_date) as expires, s.enrolment_only,
    case when t.permissions <> '{}' then t.permissions end as permissions, null::jsonb as application,
    coalesce(b.last_used, s.created) as last_used, null::text as console_session_id, null::text as machine_credential_id
  from (select * from bearers where bearers.hash = decode(asked.hash, 'hex') limit 1) b
  left join lateral (select * from sessions where sessions.session_id = b.session_id limit 1) s on true
  left join lateral (select * from access_tokens where access_tokens.token_id = b.token_id limit 1) t on true
  where s.session_id is not null or t.token_id is not null union all
  select u.user_id, null, null, least(g.expiration_date, case when not (not p.grant_required and (u.owner = p.owner
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))) then (
      select max(coalesce(g.expiration_date, 'infinity')) from user_grants g
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
    where p.project_id = g.project_id) = '') end), s.enrolment_only, string_to_array(g.scope, ' '),
    jsonb_build_object('signOnId', o.sign_on_id, 'appId', o.app_id, 'projectId', p.project_id, 'sessionId', o.session_id,
      'origins', to_jsonb(origins_of(a.oidc))), null, null, null
  from (select * from sign_on_tokens t where t.hash = decode(asked.hash, 'hex') limit 1) g
  cross join lateral (select * from sign_ons where sign_ons.sign_on_id = g.sign_on_id limit 1) o
  cross join lateral (select * from browser_sessions w where w.session_id = o.session_id limit 1) v
  left join lateral (select * from sessions where sessions.session_id = o.session_id limit 1) s on true
  cross join lateral (select * from applications where applications.app_id = o.app_id limit 1) a
  cross join lateral (select * from projects where projects.project_id = a.project_id limit 1) p
  cross join lateral (select * from organizations where organizations.organization_id = p.owner limit 1) h
  cross join lateral (select * from users where users.user_id = o.user_id limit 1) u
  where g.jkt is null and o.for_api and (s.session_id is not null or v.expiration_date <= now())
    and a.active and (a.oidc->>'firstParty')::boolean and p.active and h.active and not h.deleted and (exists (select from user_grants g
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
          or exists (select from project_grants d where d.project_id = p.project_id and d.granted_organization_id = u.owner offset 0))) union all
  select g.user_id, null, null, least(g.expiration_date, m.expiration_date), null, string_to_array(g.scope, ' '), null, null, null,
    g.credential_id
  from (select * from machine_tokens t where t.hash = decode(asked.hash, 'hex') limit 1) g
  cross join lateral (select * from machine_credentials c where c.credential_id = g.credential_id limit 1) m
  where g.jkt is null and g.for_api union all
  select s.user_id, null, null, c.expiration_date, s.enrolment_only, null, null, null, s.session_id, null
  from (select * from console_sign_ons where console_sign_ons.token_hash = decode(asked.hash, 'hex') limit 1) c
  cross join lateral (select * from browser_sessions w where w.session_id = c.session_id limit 1) v
  cross join lateral (select * from sessions where sessions.session_id = c.session_id limit 1) s) b on true
             cross join lateral (select * from users where users.user_id = b.user_id limit 1) u where (u.active and (select h.active from organizations h where h.organization_id = u.owner));

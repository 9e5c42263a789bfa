with asked as not materialized (
  select 0 as n, $1::text as owner, $2::text as id
)
select n, u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
  u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed, h.name as "organizationName", h.active as "organizationActive",
        h.own_login_names as "organizationOwnLoginNames", h.requires_acceptance as "organizationRequiresAcceptance",
        h.version as "organizationVersion", h.created as "organizationCreated", h.changed as "organizationChanged",
        (
        select json_agg(json_build_object('projectId', h.project_id, 'roleKey', h.role_key, 'organizationId', h.owner,
          'projectGrantId', h.project_grant_id) order by h.foreign, h.project_id, h.project_grant_id, h.owner, h.role_key)
        from (
          select * from ((
            select g.owner <> u.owner as foreign, g.project_id, g.project_grant_id, g.owner, r.role_key
            from user_grants g cross join lateral (
              select role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
              order by role_key limit 1001) r
            where (g.user_id collate "C") = u.user_id and (g.owner collate "C") = u.owner and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = ''
            order by (g.owner collate "C"), (g.user_grant_id collate "C"), r.role_key
            limit 1001) union all (
            select g.owner <> u.owner as foreign, g.project_id, g.project_grant_id, g.owner, r.role_key
            from user_grants g cross join lateral (
              select role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
              order by role_key limit 1001) r
            where (g.user_id collate "C") = u.user_id and (g.owner collate "C") < u.owner and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = ''
            order by (g.owner collate "C"), (g.user_grant_id collate "C"), r.role_key
            limit 1001) union all (
            select g.owner <> u.owner as foreign, g.project_id, g.project_grant_id, g.owner, r.role_key
            from user_grants g cross join lateral (
              select role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
              order by role_key limit 1001) r
            where (g.user_id collate "C") = u.user_id and (g.owner collate "C") > u.owner and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = ''
            order by (g.owner collate "C"), (g.user_grant_id collate "C"), r.role_key
            limit 1001)) h order by h.foreign, h.project_id, h.project_grant_id, h.owner, h.role_key limit 1001
        ) h
      ) as roles
      from asked
      cross join lateral (select * from users u where u.owner = asked.owner and u.user_id = asked.id limit 1) u
      cross join lateral (select * from organizations h where h.organization_id = u.owner limit 1) h
      where not h.deleted;

with asked as not materialized (
  select 0 as n, $1::text as owner, $2::text as id, $3::text as project
)
select n, u.user_id as id, u.owner, u.kind, u.username, u.given_name as "givenName", u.family_name as "familyName",
  u.email, u.email_verified as "emailVerified", u.requires_factor as "requiresFactor", u.phone, u.phone_verified as "phoneVerified", u.address, u.language, u.name, u.active, u.own_login_name as "ownLoginName", u.locked, u.locked_until as "lockedUntil",
  u.version, u.created, u.changed, h.name as "organizationName", h.active as "organizationActive",
        h.own_login_names as "organizationOwnLoginNames", h.requires_acceptance as "organizationRequiresAcceptance",
        h.version as "organizationVersion", h.created as "organizationCreated", h.changed as "organizationChanged",
        (
        select json_agg(json_build_object('projectId', h.project_id, 'roleKey', h.role_key, 'organizationId', h.owner,
          'projectGrantId', h.project_grant_id) order by h.foreign, h.project_id, h.project_grant_id, h.owner, h.role_key)
        from (
          select * from ((
            select g.owner <> u.owner as foreign, g.project_id, g.project_grant_id, g.owner, r.role_key
            from user_grants g cross join lateral (
              select role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id and not exists (select from all_project_roles x
        where x.deleted and x.project_id = r.project_id and x.role_key = r.role_key offset 0)
      and not exists (select from all_project_grant_roles x
        where x.deleted and x.project_grant_id = r.project_grant_id and x.role_key = r.role_key offset 0)
              order by role_key limit 1001) r
            where g.user_id = u.user_id and g.project_id = asked.project and g.active and (select case when not p.active then 'project'
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
    where p.project_id = g.project_id) = ''
            order by g.owner <> u.owner, (g.owner collate "C"), (g.user_grant_id collate "C"), r.role_key
            limit 1001)) h order by h.foreign, h.project_id, h.project_grant_id, h.owner, h.role_key limit 1001
        ) h
      ) as roles
      from asked
      cross join lateral (select * from users u where u.owner = asked.owner and u.user_id = asked.id limit 1) u
      cross join lateral (select * from organizations h where h.organization_id = u.owner limit 1) h
      where not h.deleted;

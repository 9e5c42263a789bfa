select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g where g.owner = $1
  and true
  order by g.user_grant_id desc limit $2;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g where g.owner = $1
  and g.user_grant_id < $2
  order by g.user_grant_id desc limit $3;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from (select * from user_grants g where g.user_id = $1 and g.project_id = $2 offset 0) g
  where g.owner = $3 and (g.project_id = any($4) or g.project_grant_id = any($5)) and exists (select from user_grant_roles k where k.user_grant_id = g.user_grant_id and k.role_key = $6) and
true and true
  and true
  order by g.user_grant_id desc limit $7;

with asked as not materialized (
  select 0 as n, $1::text as owner, $2::text as user_id, $3::text as beyond, $4::integer as most
)
select n, g.user_grant_id, g.project_id, g.project_grant_id, g.active,
      date_part('epoch', g.expiration_date), g.version, date_part('epoch', g.created), date_part('epoch', g.changed), case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end,
      array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key)
    from asked
    cross join lateral (
      select * from user_grants g
      where (g.owner collate "C") = asked.owner and (g.user_id collate "C") = asked.user_id
        and (g.user_grant_id collate "C") < asked.beyond
      order by (g.user_grant_id collate "C") desc limit asked.most
    ) g
    cross join lateral (select * from projects p where p.project_id = g.project_id limit 1) p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where not exists (select from all_users x where x.deleted and x.user_id = asked.user_id offset 0);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, user_id text, beyond text, most integer, projects text[], project_grants text[])
)
select n, g.user_grant_id, g.project_id, g.project_grant_id, g.active,
      date_part('epoch', g.expiration_date), g.version, date_part('epoch', g.created), date_part('epoch', g.changed), case when not p.active then 'project'
      when not h.active then 'organization'
      when g.project_grant_id is not null and not ((select o.active from organizations o where o.organization_id = g.owner)
        and not exists (select from all_project_grants x
          where x.deleted and x.project_grant_id = g.project_grant_id offset 0)) then 'organization'
      when not (not exists (select from ended_roles e
      where e.user_id = g.user_id and e.organization_id = g.owner and e.kind = 'ROLE_KIND_USER_GRANT' and not e.kept offset 0)) then 'user'
      when g.expiration_date <= now() then 'time'
      else '' end,
      array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key)
    from asked
    cross join lateral (
      select * from user_grants g
      where (g.owner collate "C") = asked.owner and (g.user_id collate "C") = asked.user_id
        and (g.user_grant_id collate "C") < asked.beyond
        and (g.project_id = any(asked.projects) or g.project_grant_id = any(asked.project_grants))
      order by (g.user_grant_id collate "C") desc limit asked.most
    ) g
    cross join lateral (select * from projects p where p.project_id = g.project_id limit 1) p
    cross join lateral (select * from organizations h where h.organization_id = p.owner limit 1) h
    where not exists (select from all_users x where x.deleted and x.user_id = asked.user_id offset 0);

with page as materialized (select array(
  select k.user_grant_id from user_grant_roles k
  where
(k.project_id collate "C") = $1 and (k.role_key collate "C") = $2 and (k.owner collate "C") = $3 and true
  and true
  order by (k.user_grant_id collate "C") desc limit $4) as ids)
select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden", r."roleKeys" from user_grants g join (
  select user_grant_id, array_agg(role_key order by role_key) as "roleKeys"
  from user_grant_roles where user_grant_id = any((select ids from page)::text[]) group by user_grant_id
) r on r.user_grant_id = g.user_grant_id
where g.user_grant_id = any((select ids from page)::text[])
order by (g.user_grant_id collate "C") desc;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g where g.owner = $1 and g.project_id = $2 and exists (
  select from project_grants p where p.project_grant_id = any($3) and p.project_id = $4)
  and true
  order by g.user_grant_id desc limit $5;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from (
    select found.* from unnest($1::text[]) p cross join lateral (
  select g.* from user_grants g where g.project_id = p and g.owner = $2
  and true
  order by g.user_grant_id desc limit $3) found
    union all
    select found.* from unnest($4::text[]) p cross join lateral (
  select g.* from user_grants g where (g.project_grant_id collate "C") = p
  and true
  order by (g.user_grant_id collate "C") desc limit $5) found
    where found.owner = $6) g where true
  and true
  order by g.user_grant_id desc limit $7;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, g.user_grant_id as key, g.active as "isMatch",
      row_number() over (order by g.user_grant_id desc) = $1 as "isLast"
    from user_grants g where g.owner = $2
  and true
  order by g.user_grant_id desc limit $3) g
  where g."isMatch" or g."isLast" order by g.key desc limit $4;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, (g.user_grant_id collate "C") as key, g.active as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $1 as "isLast"
    from user_grants g where (g.owner collate "C") = $2 and (g.user_id collate "C") = $3 and true
  and true
  order by (g.user_grant_id collate "C") desc limit $4) g
  where g."isMatch" or g."isLast" order by g.key desc limit $5;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from (select * from user_grants g where g.user_id = $1 and g.project_id = $2 offset 0) g
  where g.owner = $3 and true and true and
g.active and true
  and true
  order by g.user_grant_id desc limit $4;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, g.user_grant_id as key, g.active as "isMatch",
      row_number() over (order by g.user_grant_id desc) = $1 as "isLast"
    from user_grants g where g.owner = $2 and g.project_id = $3 and true
  and true
  order by g.user_grant_id desc limit $4) g
  where g."isMatch" or g."isLast" order by g.key desc limit $5;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, (k.user_grant_id collate "C") as key, g.active as "isMatch",
      row_number() over (order by (k.user_grant_id collate "C") desc) = $1 as "isLast"
    from
user_grant_roles k cross join lateral (
  select * from user_grants where user_grant_id = k.user_grant_id limit 1) g
where
(k.project_id collate "C") = $2 and (k.role_key collate "C") = $3 and (k.owner collate "C") = $4 and true
  and true
  order by (k.user_grant_id collate "C") desc limit $5) g
  where g."isMatch" or g."isLast" order by g.key desc limit $6;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g where not g.active and (g.owner collate "C") = $1
  and true
  order by (g.user_grant_id collate "C") desc limit $2;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g where not g.active and (g.owner collate "C") = $1 and (g.user_id collate "C") = $2 and true
  and true
  order by (g.user_grant_id collate "C") desc limit $3;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from (select * from user_grants g where g.user_id = $1 and g.project_id = $2 offset 0) g
  where g.owner = $3 and true and true and
not g.active and true
  and true
  order by g.user_grant_id desc limit $4;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from user_grants g where not g.active and (g.owner collate "C") = $1 and (g.project_id collate "C") = $2 and true
  and true
  order by (g.user_grant_id collate "C") desc limit $3;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, (g.user_grant_id collate "C") as key, exists (select from user_grant_roles k where k.user_grant_id = g.user_grant_id and k.role_key = $1) as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $2 as "isLast"
    from user_grants g where not g.active and (g.owner collate "C") = $3 and (g.project_id collate "C") = $4 and true
  and true
  order by (g.user_grant_id collate "C") desc limit $5) g
  where g."isMatch" or g."isLast" order by g.key desc limit $6;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select found.* from unnest($1::text[]) p cross join lateral (
  select g.* from (
    select g.*, g.user_grant_id as key, g.active as "isMatch",
      row_number() over (order by g.user_grant_id desc) = $2 as "isLast"
    from user_grants g where g.project_id = p and g.owner = $3
  and true
  order by g.user_grant_id desc limit $4) g
  where g."isMatch" or g."isLast" order by g.key desc limit $5) found
    union all
    select found.* from unnest($6::text[]) p cross join lateral (
  select g.* from (
    select g.*, (g.user_grant_id collate "C") as key, g.active as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $7 as "isLast"
    from user_grants g where (g.project_grant_id collate "C") = p
  and true
  order by (g.user_grant_id collate "C") desc limit $8) g
  where g."isMatch" or g."isLast" order by g.key desc limit $9) found
    where found.owner = $10) g where true
  and true
  order by g.user_grant_id desc limit $11;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys" from (
    select found.* from unnest($1::text[]) p cross join lateral (
  select g.* from user_grants g
  where not g.active and (g.owner collate "C") = $2 and (g.project_id collate "C") = p
  and true
  order by (g.user_grant_id collate "C") desc limit $3) found
    union all
    select found.* from unnest($4::text[]) p cross join lateral (
  select g.* from user_grants g where (g.project_grant_id collate "C") = p and not g.active
  and true
  order by (g.user_grant_id collate "C") desc limit $5) found
    where found.owner = $6) g where true
  and true
  order by g.user_grant_id desc limit $7;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, (g.user_grant_id collate "C") as key,
true and coalesce(g.expiration_date < $1, false) as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $2 as "isLast"
    from user_grants g where g.expiration_date is not null and (g.owner collate "C") = $3
  and true
  order by (g.user_grant_id collate "C") desc limit $4) g
  where g."isMatch" or g."isLast" order by g.key desc limit $5;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, (g.user_grant_id collate "C") as key,
true and coalesce(g.expiration_date < $1, false) as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $2 as "isLast"
    from user_grants g where g.expiration_date is not null and (g.owner collate "C") = $3 and (g.user_id collate "C") = $4 and true
  and true
  order by (g.user_grant_id collate "C") desc limit $5) g
  where g."isMatch" or g."isLast" order by g.key desc limit $6;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select g.*, (g.user_grant_id collate "C") as key, exists (select from user_grant_roles k where k.user_grant_id = g.user_grant_id and k.role_key = $1) and
true and coalesce(g.expiration_date < $2, false) as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $3 as "isLast"
    from user_grants g where g.expiration_date is not null and (g.owner collate "C") = $4 and (g.project_id collate "C") = $5 and true
  and true
  order by (g.user_grant_id collate "C") desc limit $6) g
  where g."isMatch" or g."isLast" order by g.key desc limit $7;

select g.user_grant_id as id, g.owner, g.user_id as "userId", g.project_id as "projectId",
g.project_grant_id as "projectGrantId", g.active, g.expiration_date as "expirationDate", g.version, g.created, g.changed,
(select case when not p.active then 'project'
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
  where p.project_id = g.project_id) as "shutBy", exists (select from all_users x where x.deleted and x.user_id = g.user_id offset 0) as "isHidden",
array(select r.role_key from user_grant_roles r where r.user_grant_id = g.user_grant_id order by r.role_key) as "roleKeys", g."isMatch", g."isLast" from (
    select found.* from unnest($1::text[]) p cross join lateral (
  select g.* from (
    select g.*, (g.user_grant_id collate "C") as key,
true and coalesce(g.expiration_date < $2, false) as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $3 as "isLast"
    from user_grants g
  where g.expiration_date is not null and (g.owner collate "C") = $4 and (g.project_id collate "C") = p
  and true
  order by (g.user_grant_id collate "C") desc limit $5) g
  where g."isMatch" or g."isLast" order by g.key desc limit $6) found
    union all
    select found.* from unnest($7::text[]) p cross join lateral (
  select g.* from (
    select g.*, (g.user_grant_id collate "C") as key,
true and coalesce(g.expiration_date < $8, false) as "isMatch",
      row_number() over (order by (g.user_grant_id collate "C") desc) = $9 as "isLast"
    from user_grants g where (g.project_grant_id collate "C") = p and g.expiration_date is not null
  and true
  order by (g.user_grant_id collate "C") desc limit $10) g
  where g."isMatch" or g."isLast" order by g.key desc limit $11) found
    where found.owner = $12) g where true
  and true
  order by g.user_grant_id desc limit $13;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, login_name text, organization text, address text, local_part text, domain text, owner text, project_id text, project_grant_id text)
)
select n, exists (
        select from projects p where p.owner = asked.owner and p.project_id = asked.project_id offset 0) or exists (
        select from project_grants g where g.project_id = asked.project_id and g.granted_organization_id = asked.owner and (select not d.deleted from organizations d where d.organization_id = g.owner) offset 0) as "hasProject",
      o.project_id as "grantedProject", o.owner = asked.owner as "isGiver",
      case when u.user_id is not null then jsonb_build_object('id', u.user_id,
        'name', user_name(u.name, u.given_name, u.family_name), 'loginName', u.username) end as "user"
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
      left join lateral (
        select g.project_id, g.owner from project_grants g
        where g.project_grant_id = asked.project_grant_id and (g.owner = asked.owner or g.granted_organization_id = asked.owner and (select not d.deleted from organizations d where d.organization_id = g.owner)) limit 1) o on true
      left join lateral (
        select * from users u where u.owner = asked.owner and u.user_id = l.user_id limit 1) u on true;

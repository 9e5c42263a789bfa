with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, u.user_id as id, u.owner, u.kind, (u.active and (select h.active from organizations h where h.organization_id = u.owner)) as active, case when coalesce((
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
      u.email, u.version, u.created, u.changed,
      exists (select from passwords p where p.user_id = u.user_id) as "hasPassword",
  (select s.time from mail_sends s
   where (s.user_id, s.purpose, s.time)
     between (u.user_id, 'password', timestamptz '-infinity') and (u.user_id, 'password', timestamptz 'infinity')
   order by s.user_id desc, s.purpose desc, s.time desc offset 9 limit 1) as "userLimit",
  (select s.time from mail_sends s where s.email = lower(u.email) and s.purpose = 'password'
   order by s.n desc offset 19 limit 1) as "addressLimit",
  (select coalesce(max(s.n), 0) + 1 from mail_sends s
   where s.email = lower(u.email) and s.purpose = 'password') as nth
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/user.password_code_requested.sql

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, id text)
)
select n,
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and not exists (select from ended_roles e
      where e.user_id = m.user_id and e.organization_id = m.owner and e.kind = 'ROLE_KIND_MEMBERSHIP' and not e.kept offset 0)
  ), '[]'::jsonb) as memberships from asked join all_users u on u.user_id = asked.id;

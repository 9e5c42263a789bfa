with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, now timestamptz)
)
select n, exists (
        select from access_tokens t where t.user_id = u.user_id and coalesce(t.expiration_date, 'infinity') > asked.now
        offset 999) as "isFull"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/access_token.created.sql

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

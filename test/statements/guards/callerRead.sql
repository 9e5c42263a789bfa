with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text)
)
select n, u.user_id as "userId", u.owner as organization, s.session_id as "sessionId", t.token_id as "tokenId",
               coalesce(s.expiration_date, t.expiration_date) as expires, s.enrolment_only as "enrolmentOnly", t.permissions,
  coalesce((
    select jsonb_agg(jsonb_build_object('scope', m.scope, 'id', m.scope_id, 'organization', m.owner,
      'project', coalesce(m.project_id, g.project_id), 'roles', m.roles))
    from members m left join project_grants g on g.project_grant_id = m.project_grant_id
    where m.user_id = u.user_id and not exists (select from organizations d where d.organization_id = m.owner and not d.active)
  ), '[]'::jsonb) as memberships
             from asked join bearers b on b.hash = decode(asked.hash, 'hex')
             join users u on u.user_id = b.user_id and (u.active and (select h.active from organizations h where h.organization_id = u.owner))
             left join sessions s on s.session_id = b.session_id
             left join access_tokens t on t.token_id = b.token_id
             where s.session_id is not null or t.token_id is not null;

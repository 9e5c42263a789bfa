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
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, user_id text, organization text, now timestamptz, project text)
)
select n, p.project_id as "projectId", p.owner as "projectOwner", o.organization_id as "organizationId",
        coalesce(own.roles, '[]') as roles, (select floor(extract(epoch from min(g.expiration_date))) from user_grants g
        where g.user_id = u.user_id and g.project_id = p.project_id and (g.owner = o.organization_id) is true and g.active and not g.expiration_date <= now()) as "grantsEnd"
      from asked join users u on u.user_id = asked.user_id
      cross join lateral (select coalesce(asked.organization, u.owner) as organization_id) o
      join projects p on p.project_id = asked.project
      join organizations h on h.organization_id = p.owner
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
      where exists (select from user_grants g
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
    where p.project_id = g.project_id) = '' offset 0);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash bytea, credential_id text, user_id text, organization text, project text, resource jsonb, scope text,
    jkt text, now timestamptz, ends timestamptz, origin jsonb)
),
found as (
  select asked.* from asked
  cross join lateral (select from machine_proofs k where k.credential_id = asked.credential_id limit 1) k
  cross join lateral (select * from users where users.user_id = asked.user_id limit 1) u
  where (u.active and (select h.active from organizations h where h.organization_id = u.owner))
),
made as (
  insert into machine_tokens (hash, credential_id, user_id, organization_id, project_id, resource, scope,
    jkt, for_api, created, expiration_date)
  select hash, credential_id, user_id, organization, project, resource, scope, jkt, project is null, now, ends from found
),
surplus as (
  delete from machine_tokens where ctid = any(array(
    select ctid from machine_tokens where hash = any(array(
      select o.hash from asked cross join lateral (
        select t.hash from machine_tokens t where t.credential_id = asked.credential_id
        order by t.created desc offset 999 limit 1000) o
      where asked.hash < '\x04'))
    for update skip locked))
),
used as (
  update machine_proofs k set (last_used, last_used_origin) = (
    select a.now, a.origin from asked a where a.credential_id = k.credential_id limit 1)
  where credential_id = any(array(
    select credential_id from machine_proofs where credential_id = any(array(select credential_id from asked))
      and coalesce(last_used, '-infinity') <= (select min(now) from asked) - interval '1 hour'
    for no key update skip locked))
  returning credential_id
)
select n, used.credential_id is not null as "isRecorded" from found left join used using (credential_id);

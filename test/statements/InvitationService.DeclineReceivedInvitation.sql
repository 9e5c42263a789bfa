with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, receiver text, id text, now timestamptz)
)
select n, v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName", h.active as "organizationActive",
               coalesce((select (u.active and (select h.active from organizations h where h.organization_id = u.owner)) from users u where u.user_id = v.inviter_id), false) as "inviterActive"
             from asked
             join invitation_receivers r on r.invitation_id = asked.id and r.receiver_id = asked.receiver
             join invitations v on v.invitation_id = r.invitation_id and v.expiration_date > asked.now
             join organizations h on h.organization_id = v.owner and not h.deleted and not exists (select from all_users x where x.deleted and x.user_id = v.recipient_id offset 0);

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text, giver text)
)
select n, u.user_id as id, u.owner, u.version, u.created, u.changed,
      json_build_array(
        json_build_object('kind', 1, 'isGiven', exists (select from members m where (m.user_id collate "C") = asked.id and (m.owner collate "C") = asked.giver and m.scope <> 'instance' offset 0),
        'endedBy', (select case when e.by_administrator then 'administrator' else 'user' end from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_MEMBERSHIP'),
        'isKept', (select e.kept from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_MEMBERSHIP'),
        'jobId', (select j.job_id from jobs j where j.ended is null and j.owner = asked.owner and j.stream = asked.id
          and j.type = 'user.roles_ended' and j.payload->>'organizationId' = asked.giver
          and j.payload->'kinds' ? 'ROLE_KIND_MEMBERSHIP' limit 1)),
        json_build_object('kind', 2, 'isGiven', exists (select from user_grants g where (g.user_id collate "C") = asked.id and (g.owner collate "C") = asked.giver offset 0),
        'endedBy', (select case when e.by_administrator then 'administrator' else 'user' end from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_USER_GRANT'),
        'isKept', (select e.kept from ended_roles e
          where e.user_id = asked.id and e.organization_id = asked.giver and e.kind = 'ROLE_KIND_USER_GRANT'),
        'jobId', (select j.job_id from jobs j where j.ended is null and j.owner = asked.owner and j.stream = asked.id
          and j.type = 'user.roles_ended' and j.payload->>'organizationId' = asked.giver
          and j.payload->'kinds' ? 'ROLE_KIND_USER_GRANT' limit 1))
      ) as kinds,
      exists (
  select from members m where m.user_id = u.user_id and m.scope = 'organization' and m.scope_id = asked.giver
    and case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
    and not exists (select from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) and o.user_id <> m.user_id)) as "isLastOwner"
      from asked join users u on u.owner = asked.owner and u.user_id = asked.id;

-- appends: facts/invitation.declined_and_user.roles_ended.sql

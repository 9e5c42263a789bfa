with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, hash text, now timestamptz)
)
select n, v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email, h.name as "organizationName", h.active as "organizationActive",
        coalesce(concat_ws(' ', u.given_name, u.family_name), '') as "inviterName",
        coalesce((u.active and (select h.active from organizations h where h.organization_id = u.owner)), false) as "inviterActive",
        coalesce((select jsonb_object_agg(j.id, p.name)
          from (select j->>'projectId' from jsonb_array_elements(v.memberships) j union select j->>'projectId' from jsonb_array_elements(v.grants) j) j (id)
          cross join lateral (select p.name from projects p where p.project_id = j.id limit 1) p), '{}') as "projectNames"
      from asked
      join mail_codes c on c.mac = decode(asked.hash, 'hex') and c.purpose = 'invitation' and c.expiration_date > asked.now
      join invitations v on v.invitation_id = c.user_id left join invitation_addresses a on a.invitation_id = v.invitation_id
      join organizations h on h.organization_id = v.owner and not h.deleted
      left join users u on u.user_id = v.inviter_id;

-- appends: facts/invitation.declined.sql

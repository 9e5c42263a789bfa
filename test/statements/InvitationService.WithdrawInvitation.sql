with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, id text)
)
select n, v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
  v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
  v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email from asked
             join invitations v on v.owner = asked.owner and v.invitation_id = asked.id left join invitation_addresses a on a.invitation_id = v.invitation_id;

-- appends: facts/invitation.withdrawn.sql

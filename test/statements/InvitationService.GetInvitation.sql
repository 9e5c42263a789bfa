select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email from invitations v left join invitation_addresses a on a.invitation_id = v.invitation_id
  where v.owner = $1 and v.invitation_id = $2 and true;

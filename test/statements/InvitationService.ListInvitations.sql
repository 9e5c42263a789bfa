select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email from invitations v left join invitation_addresses a on a.invitation_id = v.invitation_id
where v.owner = $1 and true and true
order by v.invitation_id desc limit $2;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email from invitations v left join invitation_addresses a on a.invitation_id = v.invitation_id
where v.owner = $1 and true and v.invitation_id < $2
order by v.invitation_id desc limit $3;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email from invitations v left join invitation_addresses a on a.invitation_id = v.invitation_id
where v.owner = $1 and (v.kind = $2 and case when v.project_grant_id is null
    then v.project_id = any($3::text[]) else v.project_grant_id = any($4::text[]) end or v.kind = $5 and case when v.project_grant_id is null
    then v.project_id = any($6::text[]) else v.project_grant_id = any($7::text[]) end or v.kind = $8 and case when v.project_grant_id is null
    then v.project_id = any($9::text[]) else v.project_grant_id = any($10::text[]) end) and true
order by v.invitation_id desc limit $11;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName",
  v.expiration_date > $1 and not h.deleted and not exists (select from all_users x where x.deleted and x.user_id = v.recipient_id offset 0) as "isMatch"
from (
  select r.invitation_id from invitation_receivers r
  where r.receiver_id = $2 and true
  order by r.invitation_id desc limit $3) r
cross join lateral (select * from invitations v where v.invitation_id = r.invitation_id limit 1) v
cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
order by v.invitation_id desc;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName",
  v.expiration_date > $1 and not h.deleted and not exists (select from all_users x where x.deleted and x.user_id = v.recipient_id offset 0) as "isMatch"
from (
  select r.invitation_id from invitation_receivers r
  where r.receiver_id = $2 and r.invitation_id < $3
  order by r.invitation_id desc limit $4) r
cross join lateral (select * from invitations v where v.invitation_id = r.invitation_id limit 1) v
cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
order by v.invitation_id desc;

select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, '' as email, h.name as "organizationName",
  v.expiration_date > $1 and not h.deleted as "isMatch"
from (
  select v.* from invitations v
  where v.recipient_id = $2 and true
    and exists (select from all_users u where u.user_id = $3 and u.owner = $4 offset 0)
  order by v.invitation_id desc limit $5) v
cross join lateral (select * from organizations h where h.organization_id = v.owner limit 1) h
order by v.invitation_id desc;

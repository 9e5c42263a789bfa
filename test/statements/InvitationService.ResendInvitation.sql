select v.invitation_id as id, v.owner, v.inviter_id as "inviterId", v.memberships, v.grants,
v.project_grant as "projectGrant", case when v.kind <> 'project_grant' then v.recipient_id end as "userId",
v.expiration_date as "expirationDate", v.version, v.created, v.changed, coalesce(a.email, '') as email from invitations v left join invitation_addresses a on a.invitation_id = v.invitation_id
  where v.owner = $1 and v.invitation_id = $2 and true;

select o.name,
    (select count(*)::integer from (
      select from invitations v where v.owner = $1::text limit 1000) v) as invitations,
(select count(*)::integer from (
  select from mail_sends s where (s.user_id, s.purpose, s.time)
    between ($1::text, 'invitation', $2::timestamptz) and ($1::text, 'invitation', timestamptz 'infinity')
  limit 1000) s) as sent
  from organizations o where o.organization_id = $1::text;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text, email text)
)
select n,
  (select s.time from mail_sends s where s.email = lower(asked.email) and s.purpose = 'invitation' and s.user_id = asked.owner
   order by s.n desc offset 2 limit 1) as "ownLimit",
  (select s.time from mail_sends s where s.email = lower(asked.email) and s.purpose = 'invitation'
   order by s.n desc offset 19 limit 1) as "addressLimit",
  (select coalesce(max(s.n), 0) + 1 from mail_sends s
   where s.email = lower(asked.email) and s.purpose = 'invitation') as nth from asked;

-- appends: facts/invitation.resent.sql

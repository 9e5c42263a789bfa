with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project_grant.revoked') i join user_grants g on g.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from (select * from input where type = 'project_grant.revoked') i join members m on m.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project_grant.revoked') i join invitations v on v.project_grant_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"project_grant.revoked/0" as (delete from all_project_grants g using (select * from facts where type = 'project_grant.revoked') f where g.owner = f.owner and g.project_grant_id = f.stream),
"project_grant.revoked/1" as (delete from all_project_grant_roles r using (select * from facts where type = 'project_grant.revoked') f where r.project_grant_id = f.stream),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream)
select 1;

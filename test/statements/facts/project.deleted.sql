with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'consent.withdrawn' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.consent_id, c.version + 1,
               jsonb_build_object('userId', c.user_id, 'appId', c.app_id, 'byAdministrator', true)
             from (select * from input where type = 'project.deleted') i join applications a on a.project_id = i.stream join consents c on c.app_id = a.app_id) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'sign_on.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, b.owner, s.sign_on_id, 1::bigint, jsonb_build_object('userId', s.user_id, 'appId', s.app_id,
               'sessionId', s.session_id, 'reason', 'SIGN_ON_END_APPLICATION_DELETED')
             from (select * from input where type = 'project.deleted') i join applications a on a.project_id = i.stream join sign_ons s on s.app_id = a.app_id and s.expiration_date > now()
             join browser_sessions b on b.session_id = s.session_id) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'application.deleted' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, a.owner, a.app_id, a.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project.deleted') i join applications a on a.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_3 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, r.owner, r.user_grant_id, r.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project.deleted') i join user_grants r on r.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_4 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
                 from (select * from input where type = 'project.deleted') i join members m on m.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_5 as (
  select c.owner, c.stream, c.version, 'project_grant.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.project_grant_id, g.version + 1, jsonb_build_object()
                 from (select * from input where type = 'project.deleted') i join project_grants g on g.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_6 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'project.deleted') i join invitations v on v.project_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_3
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_4
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_5
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_6
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"application.deleted/0" as (delete from resource_uris r using (select * from facts where type = 'application.deleted') f where r.app_id = f.stream),
"application.deleted/1" as (delete from application_keys k using (select * from facts where type = 'application.deleted') f where k.app_id = f.stream),
"application.deleted/2" as (delete from applications a using (select * from facts where type = 'application.deleted') f where a.owner = f.owner and a.app_id = f.stream),
"application.deleted/3" as (delete from client_ids c using (select * from facts where type = 'application.deleted') f where c.owner = f.owner and c.app_id = f.stream),
"application.deleted/4" as (delete from consents c using (select * from facts where type = 'application.deleted') f
       where c.app_id = f.stream and not coalesce((f.payload->>'consentsFollow')::boolean, false)),
"application.deleted/5" as (delete from client_secrets s using (select * from facts where type = 'application.deleted') f where s.app_id = f.stream),
"consent.withdrawn/0" as (delete from consents c using (select * from facts where type = 'consent.withdrawn') f where c.consent_id = f.stream),
"consent.withdrawn/1" as (delete from acting_machines a using (select * from facts where type = 'consent.withdrawn') f
       where a.user_id = f.payload->>'userId' and a.app_id = f.payload->>'appId'),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"project.deleted/0" as (delete from all_projects p using (select * from facts where type = 'project.deleted') f where p.owner = f.owner and p.project_id = f.stream),
"project.deleted/1" as (delete from all_project_roles r using (select * from facts where type = 'project.deleted') f where r.project_id = f.stream),
"project_grant.revoked/0" as (delete from all_project_grants g using (select * from facts where type = 'project_grant.revoked') f where g.owner = f.owner and g.project_grant_id = f.stream),
"project_grant.revoked/1" as (delete from all_project_grant_roles r using (select * from facts where type = 'project_grant.revoked') f where r.project_grant_id = f.stream),
"sign_on.ended/0" as (delete from sign_ons s using (select * from facts where type = 'sign_on.ended') f where s.sign_on_id = f.stream),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream)
select 1;

with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.deleted') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, t.owner, t.token_id, t.version + 1, jsonb_build_object('userId', t.user_id)
           from (select * from input where type = 'user.deleted') i join access_tokens t on t.user_id = i.stream where true) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'machine_credential.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from (select * from input where type = 'user.deleted') i join machine_credentials c on c.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_3 as (
  select c.owner, c.stream, c.version, 'user.deleted' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (
    select i.n, i.owner, i.stream, i.version, i.payload
    from (select * from input where type = 'user.deleted') i join members m on m.user_id = i.stream and (m.scope = 'instance' or m.owner = i.owner)
    where case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(m.roles)
      and not exists (
        select from organizations d join all_users x on x.user_id = m.user_id
        where d.deleted and d.organization_id in (m.owner, x.owner))
      and not exists (
      select from (
        select o.user_id from members o join users w on w.user_id = o.user_id and w.active
  join organizations h on h.organization_id = w.owner and (h.active or h.organization_id = o.scope_id)
  where o.scope = m.scope and o.scope_id = m.scope_id and case o.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end = any(o.roles) order by o.member_id for no key update
      ) owners where owners.user_id <> m.user_id)) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_4 as (
  select c.owner, c.stream, c.version, 'member.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.member_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'user.deleted') i join members m on m.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_5 as (
  select c.owner, c.stream, c.version, 'user_grant.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, g.owner, g.user_grant_id, g.version + 1, jsonb_build_object()
           from (select * from input where type = 'user.deleted') i join user_grants g on g.user_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_6 as (
  select c.owner, c.stream, c.version, 'invitation.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, v.owner, v.invitation_id, v.version + 1, jsonb_build_object()
           from (select * from input where type = 'user.deleted') i join invitations v on v.recipient_id = i.stream) c (n, owner, stream, version, payload) join input i using (n)
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
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
"invitation.ended/0" as (delete from invitations v using (select * from facts where type = 'invitation.ended') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.ended/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.ended') f where a.invitation_id = f.stream),
"invitation.ended/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.ended') f where r.invitation_id = f.stream),
"invitation.ended/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.ended') f where c.user_id = f.stream and c.purpose = 'invitation'),
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))))),
"member.removed/0" as (delete from members m using (select * from facts where type = 'member.removed') f where m.owner = f.owner and m.member_id = f.stream),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
"user.deleted/0" as (delete from all_users u using (select * from facts where type = 'user.deleted') f where u.owner = f.owner and u.user_id = f.stream),
"user.deleted/1" as (delete from login_names t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/2" as (delete from factors t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/3" as (delete from consents t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/4" as (delete from ended_roles t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/5" as (delete from user_metadata t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/6" as (delete from machine_client_ids t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/7" as (delete from machine_delegations t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/8" as (delete from organization_login_names t using (select * from facts where type = 'user.deleted') f
   where t.owner = f.owner and t.user_id = f.stream and t.own),
"user.deleted/9" as (delete from passwords t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/10" as (delete from password_history t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/11" as (delete from password_attempts a using (select * from facts where type = 'user.deleted') f where a.user_id = f.stream),
"user.deleted/12" as (delete from password_change_attempts a using (select * from facts where type = 'user.deleted') f where a.user_id = f.stream),
"user.deleted/13" as (delete from sign_in_failures s using (select * from facts where type = 'user.deleted') f where s.subject = f.stream),
"user.deleted/14" as (delete from phone_codes c using (select * from facts where type = 'user.deleted') f where c.user_id = f.stream),
"user.deleted/15" as (delete from mail_codes c using (select * from facts where type = 'user.deleted') f where c.user_id = f.stream),
"user.deleted/16" as (delete from factor_secrets t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/17" as (delete from recovery_codes t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/18" as (delete from passkeys t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/19" as (delete from factor_enrolments t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/20" as (delete from pending_sessions t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/21" as (delete from factor_attempts t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/22" as (delete from known_browsers t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/23" as (delete from acting_machines t using (select * from facts where type = 'user.deleted') f where t.user_id = f.stream),
"user.deleted/24" as (delete from browser_sessions b using (select * from input where type = 'user.deleted') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'),
"user_grant.removed/0" as (delete from user_grant_roles r using (select * from facts where type = 'user_grant.removed') f where r.user_grant_id = f.stream),
"user_grant.removed/1" as (delete from user_grants g using (select * from facts where type = 'user_grant.removed') f where g.owner = f.owner and g.user_grant_id = f.stream)
select 1;

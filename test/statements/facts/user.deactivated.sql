with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'session.ended' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, s.owner, s.session_id, s.version + 1, jsonb_build_object('userId', s.user_id)
           from (select * from input where type = 'user.deactivated') i join sessions s on s.user_id = i.stream
           where s.session_id is distinct from i.payload->>'keepSessionId') c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'user.deactivated' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (
    select i.n, i.owner, i.stream, i.version, i.payload
    from (select * from input where type = 'user.deactivated') i join members m on m.user_id = i.stream and (m.scope = 'instance' or m.owner = i.owner)
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
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"session.ended/0" as (delete from sessions s using (select * from facts where type = 'session.ended') f where s.owner = f.owner and s.session_id = f.stream),
"session.ended/1" as (delete from bearers b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream),
"session.ended/2" as (delete from browser_sessions b using (select * from facts where type = 'session.ended') f where b.session_id = f.stream and not coalesce((f.payload->>'keepsOffline')::boolean, false)),
"session.ended/3" as (update browser_sessions b set expiration_date = 'epoch', hash = sha256(b.hash)
       from (select * from facts where type = 'session.ended') f where b.session_id = f.stream and coalesce((f.payload->>'keepsOffline')::boolean, false)),
"user.deactivated/0" as (update users t set active = false, version = f.version, changed = f.time
   from (select * from facts where type = 'user.deactivated') f where t.owner = f.owner and t.user_id = f.stream),
"user.deactivated/1" as (
  update passwords p set sign_ins = p.sign_ins + 1,
    user_id = case when p.sign_ins = q.sign_ins then p.user_id else 'came meanwhile' end
  from (select * from input where type = 'user.deactivated') i join passwords q on q.user_id = i.stream where p.user_id = i.stream),
"user.deactivated/2" as (update phone_codes c set sealed = null from (select * from facts where type = 'user.deactivated') f where c.user_id = f.stream and c.sealed is not null),
"user.deactivated/3" as (delete from mail_codes c using (select * from facts where type = 'user.deactivated') f where c.user_id = f.stream),
"user.deactivated/4" as (delete from browser_sessions b using (select * from input where type = 'user.deactivated') i
  where b.user_id = i.stream and b.session_id is distinct from i.payload->>'keepSessionId'),
"user.deactivated/5" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select c.credential_id from (select * from facts where type = 'user.deactivated') f join machine_credentials c on c.user_id = f.stream))))),
"user.deactivated/6" as (delete from exchanged_tokens t using (select * from facts where type = 'user.deactivated') f where t.user_id = f.stream)
select 1;

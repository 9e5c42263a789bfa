with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.token_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'member.changed') i cross join lateral (
             with recursive made as (
               select t.owner, t.token_id, t.version, t.user_id from access_tokens t
               where t.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? coalesce(t.creator_id, (
    select e.actor from events e where e.owner = t.owner and e.stream = t.token_id and e.version = 1))
               union
               select t.owner, t.token_id, t.version, t.user_id from made join access_tokens t on t.maker_id = made.token_id
             ) select * from made) m) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_1 as (
  select c.owner, c.stream, c.version, 'machine_credential.removed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, c.owner, c.credential_id, c.version + 1, jsonb_build_object('userId', c.user_id)
           from (select * from input where type = 'member.changed') i join machine_credentials c on c.user_id = i.secret->>'userId'
           where not i.secret->'keptCreators' ? coalesce(c.creator_id, '')) c (n, owner, stream, version, payload) join input i using (n)
),
cascade_2 as (
  select c.owner, c.stream, c.version, 'member.changed' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (
    select i.n, i.owner, i.stream, i.version, i.payload
    from (select * from input where type = 'member.changed') i join members m on m.owner = i.owner and m.member_id = i.stream and not i.payload->'roles' ? case m.scope when 'instance' then 'INSTANCE_OWNER' when 'organization' then 'ORG_OWNER' end
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
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_2
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))))),
"member.changed/0" as (update members t set roles = array(select jsonb_array_elements_text(f.payload->'roles')), version = f.version, changed = f.time
   from (select * from facts where type = 'member.changed') f where t.owner = f.owner and t.member_id = f.stream),
"member.changed/1" as (delete from mail_codes c using (select * from input where type = 'member.changed') i
  where c.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? c.creator_id),
"member.changed/2" as (delete from phone_codes c using (select * from input where type = 'member.changed') i
  where c.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? c.creator_id),
"member.changed/3" as (insert into roles_given (member_id, user_id, kept_creators)
  select i.stream, i.secret->>'userId', i.secret->'keptCreators' from (select * from input where type = 'member.changed') i where i.secret ? 'keptCreators')
select 1;

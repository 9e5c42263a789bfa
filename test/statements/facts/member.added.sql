with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
cascade_0 as (
  select c.owner, c.stream, c.version, 'access_token.revoked' as type, c.payload, i.actor, i.request_id, i.origin, i.time
  from (select i.n, m.owner, m.token_id, m.version + 1, jsonb_build_object('userId', m.user_id)
           from (select * from input where type = 'member.added') i cross join lateral (
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
           from (select * from input where type = 'member.added') i join machine_credentials c on c.user_id = i.secret->>'userId'
           where not i.secret->'keptCreators' ? coalesce(c.creator_id, '')) c (n, owner, stream, version, payload) join input i using (n)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_0
  union all select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from cascade_1
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"access_token.revoked/0" as (delete from access_tokens t using (select * from facts where type = 'access_token.revoked') f where t.owner = f.owner and t.token_id = f.stream),
"access_token.revoked/1" as (delete from bearers b using (select * from facts where type = 'access_token.revoked') f where b.token_id = f.stream),
"machine_credential.removed/0" as (delete from machine_credentials c using (select * from facts where type = 'machine_credential.removed') f where c.owner = f.owner and c.credential_id = f.stream),
"machine_credential.removed/1" as (delete from machine_proofs where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))),
"machine_credential.removed/2" as (delete from machine_tokens where hash = any(array(
  select hash from machine_tokens where credential_id = any(array(select f.stream from (select * from facts where type = 'machine_credential.removed') f))))),
"member.added/0" as (insert into members (owner, member_id, user_id, scope, scope_id, project_id, project_grant_id, roles,
         version, created, changed)
       select f.owner, f.stream, f.payload->>'userId',
         case when f.payload ? 'projectGrantId' then 'project_grant' when f.payload ? 'projectId' then 'project'
              when f.payload ? 'organizationId' then 'organization' else 'instance' end,
         coalesce(f.payload->>'projectGrantId', f.payload->>'projectId', f.payload->>'organizationId', f.owner),
         f.payload->>'projectId', f.payload->>'projectGrantId',
         array(select jsonb_array_elements_text(f.payload->'roles')), f.version, f.time, f.time
       from (select * from facts where type = 'member.added') f),
"member.added/1" as (delete from mail_codes c using (select * from input where type = 'member.added') i
  where c.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? c.creator_id),
"member.added/2" as (delete from phone_codes c using (select * from input where type = 'member.added') i
  where c.user_id = i.secret->>'userId' and not i.secret->'keptCreators' ? c.creator_id),
"member.added/3" as (insert into roles_given (member_id, user_id, kept_creators)
  select i.stream, i.secret->>'userId', i.secret->'keptCreators' from (select * from input where type = 'member.added') i where i.secret ? 'keptCreators')
select 1;

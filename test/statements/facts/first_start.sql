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
"access_token.created/0" as (insert into access_tokens (owner, token_id, user_id, expiration_date, name, permissions, maker_id, creator_id, version,
         created, changed)
       select f.owner, f.stream, f.payload->>'userId', (f.payload->>'expirationDate')::timestamptz,
         coalesce(f.payload->>'name', ''), array(select jsonb_array_elements_text(f.payload->'permissions')),
         f.payload->>'makerId', f.payload->>'creatorId', f.version, f.time, f.time from (select * from facts where type = 'access_token.created') f),
"access_token.created/1" as (insert into bearers (hash, owner, user_id, token_id, expiration_date)
       select decode(i.secret->>'hash', 'hex'), i.owner, i.payload->>'userId', i.stream,
         (i.payload->>'expirationDate')::timestamptz from (select * from input where type = 'access_token.created') i),
"access_token.created/2" as (
  update passwords p set sign_ins = p.sign_ins + 1
  from (
    select q.user_id from (select * from input where type = 'access_token.created') i join passwords q on q.user_id = i.payload->>'userId'
    where (i.secret->>'isOfSession')::boolean order by q.user_id for update of q
  ) made where p.user_id = made.user_id),
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
  select i.stream, i.secret->>'userId', i.secret->'keptCreators' from (select * from input where type = 'member.added') i where i.secret ? 'keptCreators'),
"organization.created/0" as (insert into organizations (organization_id, name, own_login_names, version, created, changed)
       select f.stream, f.payload->>'name', coalesce((f.payload->>'ownLoginNames')::boolean, false), f.version, f.time, f.time
       from (select * from facts where type = 'organization.created') f),
"project.created/0" as (insert into projects (owner, project_id, name, grant_required, version, created, changed)
       select f.owner, f.stream, f.payload->>'name', coalesce((f.payload->>'grantRequired')::boolean, false),
         f.version, f.time, f.time from (select * from facts where type = 'project.created') f),
"user.human_created/0" as (insert into users (owner, user_id, kind, username, given_name, family_name, email, email_verified, email_setter, proven_email, phone, address, language,
         requires_factor, active, own_login_name, version, created, changed)
       select f.owner, f.stream, 'human', f.payload->>'username', f.payload->>'givenName', f.payload->>'familyName',
         f.payload->>'email', coalesce((f.payload->>'emailVerified')::boolean, false), f.actor,
         case when (f.payload->>'byMail')::boolean then lower(f.payload->>'email') end, f.payload->>'phone',
         (
  select jsonb_object_agg(field.key, field.value) from jsonb_each_text(f.payload->'address') field where field.value <> ''), nullif(f.payload->>'language', ''), coalesce((f.payload->>'requiresFactor')::boolean, false), not coalesce((f.payload->>'inactive')::boolean, false),
         coalesce((f.payload->>'ownLoginName')::boolean, false), f.version, f.time, f.time from (select * from facts where type = 'user.human_created') f),
"user.human_created/1" as (insert into login_names (login_name, owner, user_id)
  select f.payload->>'loginName', f.owner, f.stream from (select * from facts where type = 'user.human_created') f where f.payload->>'loginName' <> '' and not coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.human_created/2" as (insert into organization_login_names (owner, login_name, user_id, own)
  select f.owner, f.payload->>'loginName', f.stream, true from (select * from facts where type = 'user.human_created') f where f.payload->>'loginName' <> '' and coalesce((f.payload->>'ownLoginName')::boolean, false)),
"user.human_created/3" as (insert into chosen_ids (id) select f.stream from (select * from facts where type = 'user.human_created') f where (f.payload->>'idChosen')::boolean),
"user.human_created/4" as (insert into passwords (user_id, owner, hash, changed, imported, set_by_administrator, must_change)
   select i.stream, i.owner, i.secret->>'hash', i.time, coalesce((i.secret->>'imported')::boolean, false),
     not coalesce((i.secret->>'imported')::boolean, false) and not coalesce((i.secret->>'ownChoice')::boolean, false),
     coalesce((i.secret->>'mustChange')::boolean, false)
   from (select * from input where type = 'user.human_created') i where i.secret->>'hash' is not null),
"user.human_created/5" as (insert into phone_codes (phone_code_id, owner, user_id, phone, mac, sealed, expiration_date, creator_id)
   select c.code->>'id', i.owner, i.stream, c.code->>'phone', decode(c.code->>'mac', 'hex'),
     decode(c.code->>'sealed', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code is not null
   on conflict (user_id) do update set phone_code_id = excluded.phone_code_id, phone = excluded.phone, mac = excluded.mac,
     sealed = excluded.sealed, attempts = 0, expiration_date = excluded.expiration_date,
     creator_id = excluded.creator_id),
"user.human_created/6" as (insert into phone_sends (phone, n, user_id, time)
   select c.code->>'phone', (c.code->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code->>'nth' is not null),
"user.human_created/7" as (insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id, browser)
   select c.code->>'id', i.owner, i.stream, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor,
     decode(c.code->>'browser', 'hex')
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'mailCode' as code) c where c.code is not null
   on conflict (user_id) where purpose = 'email' do update set mail_code_id = excluded.mail_code_id,
     email = excluded.email, mail_id = excluded.mail_id, mac = excluded.mac, attempts = 0,
     expiration_date = excluded.expiration_date, creator_id = excluded.creator_id),
"user.human_created/8" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select m.mail->>'id', i.owner, i.stream, m.mail->>'kind', m.mail->>'email', coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = i.stream), m.mail->>'language'),
     decode(m.mail->>'sealed', 'hex'), (m.mail->>'expirationDate')::timestamptz, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null),
"user.human_created/9" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(m.mail->>'email'), m.mail->>'purpose', (m.mail->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.human_created') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null)
select 1;

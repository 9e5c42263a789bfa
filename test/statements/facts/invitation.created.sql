with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as input (
    n integer, owner text, stream text, version bigint, type text, payload jsonb, secret jsonb,
    actor text, request_id text, origin jsonb, time timestamptz)
),
facts as (
  insert into events (owner, stream, version, type, payload, actor, request_id, origin, time, epoch)
  select owner, stream, version, type, payload, actor, request_id, origin, time, coalesce((select i.epoch from instance i), 1) from input
  returning owner, stream, version, type, payload, actor, request_id, origin, time
),
"invitation.created/0" as (insert into invitations (owner, invitation_id, inviter_id, memberships, grants, project_grant, recipient_id, kind, object_id,
         project_id, project_grant_id, expiration_date, version, created, changed)
       select f.owner, f.stream, coalesce(f.payload->>'inviterId', f.actor, ''), f.payload->'memberships', f.payload->'grants',
         f.payload->'projectGrant', coalesce(f.payload->>'userId', f.payload->'projectGrant'->>'organizationId'),
         case when o.one is null then null when f.payload ? 'projectGrant' then 'project_grant'
              when f.payload->'memberships'->0 is not null then 'member' else 'user_grant' end,
         case when o.one is not null
           then coalesce(nullif(o.one->>'projectGrantId', ''), nullif(o.one->>'projectId', ''), f.owner) end,
         nullif(o.one->>'projectId', ''), nullif(o.one->>'projectGrantId', ''), (f.payload->>'expirationDate')::timestamptz, f.version, f.time, f.time
       from (select * from facts where type = 'invitation.created') f cross join lateral (select case when (f.payload ? 'userId' or f.payload ? 'projectGrant') then coalesce(f.payload->'memberships'->0, f.payload->'grants'->0, f.payload->'projectGrant') end as one) o),
"invitation.created/1" as (insert into invitation_addresses (invitation_id, owner, email)
       select i.stream, i.owner, i.secret->>'email' from (select * from input where type = 'invitation.created') i where i.secret->>'email' is not null),
"invitation.created/2" as (insert into invitation_receivers (invitation_id, owner, receiver_id)
       select i.stream, i.owner, i.secret->>'receiverId' from (select * from input where type = 'invitation.created') i where i.secret->>'receiverId' is not null),
"invitation.created/3" as (insert into mail_codes (mail_code_id, owner, user_id, purpose, email, mail_id, mac, expiration_date, creator_id, browser)
   select c.code->>'id', i.owner, i.stream, c.code->>'purpose', c.code->>'email', c.code->>'mailId',
     decode(c.code->>'mac', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor,
     decode(c.code->>'browser', 'hex')
   from (select * from input where type = 'invitation.created') i cross join lateral (select i.secret->'mailCode' as code) c where c.code is not null
   on conflict (user_id) where purpose = 'email' do update set mail_code_id = excluded.mail_code_id,
     email = excluded.email, mail_id = excluded.mail_id, mac = excluded.mac, attempts = 0,
     expiration_date = excluded.expiration_date, creator_id = excluded.creator_id),
"invitation.created/4" as (insert into mail_messages (mail_id, owner, user_id, kind, email, language, sealed, expiration_date, created)
   select m.mail->>'id', i.owner, i.stream, m.mail->>'kind', m.mail->>'email', coalesce((
  select l.language from users u join unnest('{en,de,fr,es}'::text[]) as l (language)
    on l.language = split_part(u.language, '-', 1) where u.user_id = i.stream), m.mail->>'language'),
     decode(m.mail->>'sealed', 'hex'), (m.mail->>'expirationDate')::timestamptz, i.time
   from (select * from input where type = 'invitation.created') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null),
"invitation.created/5" as (insert into mail_sends (email, purpose, n, user_id, time)
   select lower(m.mail->>'email'), m.mail->>'purpose', (m.mail->>'nth')::bigint, i.owner, i.time
   from (select * from input where type = 'invitation.created') i cross join lateral (select i.secret->'mail' as mail) m where m.mail is not null)
select 1;

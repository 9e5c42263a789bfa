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
"invitation.withdrawn/0" as (delete from invitations v using (select * from facts where type = 'invitation.withdrawn') f where v.owner = f.owner and v.invitation_id = f.stream),
"invitation.withdrawn/1" as (delete from invitation_addresses a using (select * from facts where type = 'invitation.withdrawn') f where a.invitation_id = f.stream),
"invitation.withdrawn/2" as (delete from invitation_receivers r using (select * from facts where type = 'invitation.withdrawn') f where r.invitation_id = f.stream),
"invitation.withdrawn/3" as (delete from mail_codes c using (select * from facts where type = 'invitation.withdrawn') f where c.user_id = f.stream and c.purpose = 'invitation')
select 1;

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
"user.phone_changed/0" as (update users t set phone = f.payload->>'phone', phone_verified = (f.payload->>'verified')::boolean, version = f.version, changed = f.time
   from (select * from facts where type = 'user.phone_changed') f where t.owner = f.owner and t.user_id = f.stream),
"user.phone_changed/1" as (insert into phone_codes (phone_code_id, owner, user_id, phone, mac, sealed, expiration_date, creator_id)
   select c.code->>'id', i.owner, i.stream, c.code->>'phone', decode(c.code->>'mac', 'hex'),
     decode(c.code->>'sealed', 'hex'), (c.code->>'expirationDate')::timestamptz, i.actor
   from (select * from input where type = 'user.phone_changed') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code is not null
   on conflict (user_id) do update set phone_code_id = excluded.phone_code_id, phone = excluded.phone, mac = excluded.mac,
     sealed = excluded.sealed, attempts = 0, expiration_date = excluded.expiration_date,
     creator_id = excluded.creator_id),
"user.phone_changed/2" as (insert into phone_sends (phone, n, user_id, time)
   select c.code->>'phone', (c.code->>'nth')::bigint, i.stream, i.time
   from (select * from input where type = 'user.phone_changed') i cross join lateral (select i.secret->'phoneCode' as code) c where c.code->>'nth' is not null),
"user.phone_changed/3" as (delete from phone_codes c using (select * from input where type = 'user.phone_changed') i where c.user_id = i.stream and i.secret->'phoneCode' is null)
select 1;

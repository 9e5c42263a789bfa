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
"user.human_changed/0" as (update users t set given_name = f.payload->>'givenName', family_name = f.payload->>'familyName',
        address = case when f.payload ? 'address' then (
  select jsonb_object_agg(field.key, field.value) from jsonb_each_text(f.payload->'address') field where field.value <> '') else t.address end,
        language = case when f.payload ? 'language' then nullif(f.payload->>'language', '') else t.language end, version = f.version, changed = f.time
   from (select * from facts where type = 'user.human_changed') f where t.owner = f.owner and t.user_id = f.stream)
select 1;

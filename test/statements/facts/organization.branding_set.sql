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
"organization.branding_set/0" as (insert into brandings as b (owner, accent_color, background_color, dark_accent_color, dark_background_color, product_name, sign_in_text, terms_uri, privacy_uri, help_uri, logo_hash, logo_type, favicon_hash, favicon_type, version, created, changed)
       select f.owner, coalesce(f.payload->'branding'->>'accentColor', ''), coalesce(f.payload->'branding'->>'backgroundColor', ''), coalesce(f.payload->'branding'->>'darkAccentColor', ''), coalesce(f.payload->'branding'->>'darkBackgroundColor', ''), coalesce(f.payload->'branding'->>'productName', ''), coalesce(f.payload->'branding'->>'signInText', ''), coalesce(f.payload->'branding'->>'termsUri', ''), coalesce(f.payload->'branding'->>'privacyUri', ''), coalesce(f.payload->'branding'->>'helpUri', ''), coalesce(f.payload->>'logoHash', ''), coalesce(f.payload->>'logoType', ''), coalesce(f.payload->>'faviconHash', ''), coalesce(f.payload->>'faviconType', ''), f.version, f.time, f.time from (select * from facts where type = 'organization.branding_set') f
       on conflict (owner) do update set accent_color = excluded.accent_color, background_color = excluded.background_color, dark_accent_color = excluded.dark_accent_color, dark_background_color = excluded.dark_background_color, product_name = excluded.product_name, sign_in_text = excluded.sign_in_text, terms_uri = excluded.terms_uri, privacy_uri = excluded.privacy_uri, help_uri = excluded.help_uri, logo_hash = excluded.logo_hash, logo_type = excluded.logo_type, favicon_hash = excluded.favicon_hash, favicon_type = excluded.favicon_type,
         version = excluded.version, changed = excluded.changed),
"organization.branding_set/1" as (insert into branding_logos as l (owner, hash, type, bytes)
       select i.owner, i.payload->>'logoHash', i.payload->>'logoType', decode(i.secret->>'logo', 'base64')
       from (select * from input where type = 'organization.branding_set') i where i.secret->>'logo' is not null
       on conflict (owner) do update set hash = excluded.hash, type = excluded.type, bytes = excluded.bytes),
"organization.branding_set/2" as (delete from branding_logos l using (select * from input where type = 'organization.branding_set') i where l.owner = i.owner and coalesce(i.payload->>'logoHash', '') = ''),
"organization.branding_set/3" as (insert into branding_favicons as l (owner, hash, type, bytes)
       select i.owner, i.payload->>'faviconHash', i.payload->>'faviconType', decode(i.secret->>'favicon', 'base64')
       from (select * from input where type = 'organization.branding_set') i where i.secret->>'favicon' is not null
       on conflict (owner) do update set hash = excluded.hash, type = excluded.type, bytes = excluded.bytes),
"organization.branding_set/4" as (delete from branding_favicons l using (select * from input where type = 'organization.branding_set') i where l.owner = i.owner and coalesce(i.payload->>'faviconHash', '') = '')
select 1;

with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner is not null as "isSet", p.owner, 'organization.branding' as id, p.accent_color as "accentColor", p.background_color as "backgroundColor",
               p.dark_accent_color as "darkAccentColor", p.dark_background_color as "darkBackgroundColor",
               p.product_name as "productName", p.sign_in_text as "signInText", p.terms_uri as "termsUri",
               p.privacy_uri as "privacyUri", p.help_uri as "helpUri", p.logo_hash as "logoHash", p.logo_type as "logoType",
               p.favicon_hash as "faviconHash", p.favicon_type as "faviconType", e.version, p.created,
               e.time as changed
             from asked left join brandings p on p.owner = asked.owner
             left join lateral (
               select e.version, e.time from events e
               where e.owner = asked.owner and e.stream = 'organization.branding' order by e.version desc limit 1) e on true;

-- appends: facts/organization.branding_set.sql

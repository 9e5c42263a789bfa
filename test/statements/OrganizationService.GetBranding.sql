with asked as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as asked (n integer, owner text)
)
select n, p.owner, 'organization.branding' as id, p.accent_color as "accentColor", p.background_color as "backgroundColor",
               p.dark_accent_color as "darkAccentColor", p.dark_background_color as "darkBackgroundColor",
               p.product_name as "productName", p.sign_in_text as "signInText", p.terms_uri as "termsUri",
               p.privacy_uri as "privacyUri", p.help_uri as "helpUri", p.logo_hash as "logoHash", p.logo_type as "logoType",
               p.favicon_hash as "faviconHash", p.favicon_type as "faviconType", version, created, changed
             from asked cross join instance cross join lateral (select q.* from brandings q where q.owner in (asked.owner, instance_id) order by q.owner = asked.owner desc limit 1) p;

-- Connections of the service read by no bitmap, which reads all that matches before its first row. The index of the origins is read by
-- bitmaps alone.
create function is_origin(origin text) returns boolean language sql stable set enable_bitmapscan = on as $$
  select exists (select from applications a where origins_of(a.oidc) @> array[origin])
$$;

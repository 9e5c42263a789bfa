-- What the pages of an organization say besides their colours, and their icon. A node of the release before neither reads nor writes these
-- columns, so they keep what they have.
alter table brandings
  add column product_name text not null default '',
  add column sign_in_text text not null default '',
  add column terms_uri text not null default '',
  add column privacy_uri text not null default '',
  add column help_uri text not null default '',
  add column favicon_hash text not null default '',
  add column favicon_type text not null default '';

-- The bytes of favicons, which no fact holds.
create table branding_favicons (
  owner text primary key,
  hash text not null,
  type text not null,
  bytes bytea not null
);

-- API applications as resource servers (docs/resource-servers.md): their URIs, and the sign-ins and tokens that are for them.

-- step: transaction
-- What an API application is configured with besides its authentication.
alter table applications add column api jsonb;

-- The resource URIs. `href` is the URI as it is compared, and `names` are the domains that its host belongs to, unless an owner of the
-- instance gave the URI. Two organizations may have the same one if a domain changed hands: the one that has the domain now is meant.
create table resource_uris (
  href text not null,
  owner text not null,
  app_id text not null,
  uri text not null,
  given boolean not null,
  names text[] not null,
  primary key (href, owner)
);
create unique index resource_uris_given on resource_uris (href) where given;
create index resource_uris_app on resource_uris (app_id);

-- step: transaction
-- The API applications and URIs that a sign-in is for, in the order of the request; null for one that named none.
alter table sign_ons add column resources jsonb;

-- step: transaction
-- The API application and the URI that an access token is for; null for one without a resource.
alter table sign_on_tokens add column resource jsonb;

-- step: transaction
alter table device_codes add column resources jsonb;

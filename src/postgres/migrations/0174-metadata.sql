-- The metadata of users and organizations, an entry a row. Lists with a filter read it by key and value.
create table user_metadata (
  owner text not null,
  user_id text not null,
  key text collate "C" not null,
  value text collate "C" not null,
  primary key (user_id, key)
);
create index user_metadata_by_value on user_metadata (owner, key, value, user_id);

create table organization_metadata (
  organization_id text not null,
  key text collate "C" not null,
  value text collate "C" not null,
  primary key (organization_id, key)
);
create index organization_metadata_by_value on organization_metadata (key, value, organization_id);

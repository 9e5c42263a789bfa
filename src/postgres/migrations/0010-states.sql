-- Something deactivated keeps its rows and counts for nothing until it is reactivated.
alter table organizations add column active boolean not null default true;
alter table projects add column active boolean not null default true;
alter table applications add column active boolean not null default true;
alter table user_grants add column active boolean not null default true;

-- An empty list of permissions limits a token to nothing less than all that its user may.
alter table access_tokens
  add column name text not null default '',
  add column permissions text[] not null default '{}';

-- A deleted organization keeps its row until nothing refers to it; its name is free at once.
alter table organizations add column deleted boolean not null default false, drop constraint organizations_name;
create unique index organizations_name on organizations (name) where not deleted;
create index organizations_deleted on organizations (organization_id) where deleted;

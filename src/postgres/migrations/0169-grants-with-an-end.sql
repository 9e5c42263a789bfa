-- step: transaction
-- When the roles of a user grant end; null if they do not. Nodes of earlier releases neither write nor read it.
alter table user_grants add column expiration_date timestamptz;

-- step: index
create index concurrently if not exists user_grants_ending on user_grants (owner collate "C", user_grant_id collate "C")
  where expiration_date is not null;

-- step: index
create index concurrently if not exists user_grants_ending_of_user
  on user_grants (user_id collate "C", owner collate "C", user_grant_id collate "C") where expiration_date is not null;

-- step: index
create index concurrently if not exists user_grants_ending_of_project
  on user_grants (owner collate "C", project_id collate "C", user_grant_id collate "C") where expiration_date is not null;

-- step: index
create index concurrently if not exists user_grants_ending_of_project_grant
  on user_grants (project_grant_id collate "C", user_grant_id collate "C")
  where expiration_date is not null and project_grant_id is not null;

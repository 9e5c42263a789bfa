-- Lists filter by state. Rows that are inactive are the few: each order of a list has an index of them alone, which costs next to
-- nothing while everything is active. A list of those active leaves out the few as it reads.

-- A statement uses these indexes only if it asks for rows that are inactive; columns other than names compare by bytes, as those of
-- the other lists do. Permissions and grants look for inactive organizations by id; as they do not say "not deleted", their
-- plans stay as they were.
create index organizations_inactive on organizations (name, organization_id) where not active and not deleted;
create index projects_inactive on projects (owner collate "C", name, project_id) where not active;
create index applications_inactive on applications (project_id collate "C", name, app_id) where not active;
create index user_grants_inactive on user_grants (owner collate "C", user_grant_id collate "C") where not active;
create index user_grants_inactive_of_user on user_grants (user_id collate "C", owner collate "C", user_grant_id collate "C")
  where not active;
create index user_grants_inactive_of_project
  on user_grants (owner collate "C", project_id collate "C", user_grant_id collate "C") where not active;
create index user_grants_inactive_of_project_grant on user_grants (project_grant_id collate "C", user_grant_id collate "C")
  where not active and project_grant_id is not null;

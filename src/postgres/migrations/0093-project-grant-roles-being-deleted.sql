-- step: index
-- As project_roles_being_deleted, for the roles that a project grant lost.
create index concurrently if not exists project_grant_roles_being_deleted on all_project_grant_roles (project_grant_id, role_key)
  where deleted;

-- step: index
-- Organizations take turns at jobs.
create index concurrently if not exists jobs_in_turn on jobs (owner, job_id) where ended is null;

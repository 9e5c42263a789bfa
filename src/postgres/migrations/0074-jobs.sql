-- replaces sha256 c9fc0b3d0c761199fc49d2204d3d2ce232bf0f738d2ae54234a679787ded62fb

-- step: transaction
-- Long work of one fact, which goes on in batches: what the fact says, who began it, and how far it is.
create table jobs (
  job_id text primary key,
  owner text not null,
  type text not null,
  stream text not null,
  version bigint not null,
  payload jsonb not null,
  actor text,
  request_id text not null,
  created timestamptz not null,
  ended timestamptz,
  written bigint not null default 0
);
create index jobs_under_way on jobs (job_id) where ended is null;
create index jobs_of_organization on jobs (owner, job_id);
create index jobs_ended on jobs (ended) where ended is not null;

-- step: index
-- What is being deleted is little at any time: whether a role or a project grant is, is asked of these indexes alone.
create index concurrently if not exists project_roles_being_deleted on all_project_roles (project_id, role_key) where deleted;

-- step: index
create index concurrently if not exists project_grants_being_deleted on all_project_grants (project_grant_id) where deleted;

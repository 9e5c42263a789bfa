-- Invitations that an organization receives, for itself or one of its users. Each offers one thing: `kind` is what it would become, and
-- `object_id` where. Invitations by address have none of these columns.

-- step: transaction
alter table invitations
  add column recipient_id text,
  add column kind text,
  add column object_id text,
  add column project_id text,
  add column project_grant_id text,
  add column project_grant jsonb;

-- step: index
create unique index concurrently if not exists invitations_of_recipient on invitations (recipient_id, kind, object_id, owner)
  where recipient_id is not null;

-- step: index
create index concurrently if not exists invitations_of_recipient_by_id on invitations (recipient_id, invitation_id)
  where recipient_id is not null;

-- step: index
create index concurrently if not exists invitations_in_project on invitations (project_id) where project_id is not null;

-- step: index
create index concurrently if not exists invitations_of_project_grant on invitations (project_grant_id) where project_grant_id is not null;

-- replaces sha256 9339d125e3c4055f8675eeb00333d0e2d51cb4c11ea016c21e7307bdd97bcc7b

-- step: transaction
alter table project_roles add column deleted boolean not null default false;
alter table project_roles rename to all_project_roles;
select show_present('project_roles');
create or replace trigger project_roles_terms after insert or delete or update of role_key, display_name, deleted on all_project_roles
  for each row execute function write_terms('role', 'project_id', 'role_key');

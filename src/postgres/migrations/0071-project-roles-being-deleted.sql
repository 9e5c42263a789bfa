alter table project_roles add column deleted boolean not null default false;
alter table project_roles rename to all_project_roles;
select show_present('project_roles');
create or replace trigger project_roles_terms after insert or delete or update of words, deleted on all_project_roles
  for each row execute function write_terms('role', 'project_id', 'role_key');

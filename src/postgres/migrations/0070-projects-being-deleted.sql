-- replaces sha256 a0e173900220cdb0209131b8415a1615d03bf3f5ef44263689e5d9418574831c

-- step: transaction
alter table projects add column deleted boolean not null default false;
alter table projects rename to all_projects;
select show_present('projects');
create or replace trigger projects_terms after insert or delete or update of name, deleted on all_projects
  for each row execute function write_terms('project', 'owner', 'project_id');

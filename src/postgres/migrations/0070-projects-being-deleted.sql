alter table projects add column deleted boolean not null default false;
alter table projects rename to all_projects;
select show_present('projects');
create or replace trigger projects_terms after insert or delete or update of words, deleted on all_projects
  for each row execute function write_terms('project', 'owner', 'project_id');

alter table project_grants add column deleted boolean not null default false;
alter table project_grants rename to all_project_grants;
select show_present('project_grants');

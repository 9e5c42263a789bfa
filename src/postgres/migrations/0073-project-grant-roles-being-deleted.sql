alter table project_grant_roles add column deleted boolean not null default false;
alter table project_grant_roles rename to all_project_grant_roles;
select show_present('project_grant_roles');

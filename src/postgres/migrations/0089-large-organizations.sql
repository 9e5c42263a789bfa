-- Plans are made once, for whatever organization, project or scope. Where most have one row or two, the planner cannot tell a look-up by
-- the primary key from reading all rows of the owner, and takes either. An organization with a thousand projects then had all of them read
-- for each one that was looked up. So it plans for a hundred rows each. (For a constant number of owners, however small, it would look for
-- the rows of an owner in the index of all ids.)
alter table all_users alter column owner set (n_distinct = -0.01);
alter table all_projects alter column owner set (n_distinct = -0.01);
alter table all_project_roles alter column project_id set (n_distinct = -0.01);
alter table all_project_grants alter column project_id set (n_distinct = -0.01);
alter table applications alter column project_id set (n_distinct = -0.01);
alter table members alter column scope_id set (n_distinct = -0.01);
alter table user_grants alter column project_id set (n_distinct = -0.01);
analyze all_users, all_projects, all_project_roles, all_project_grants, applications, members, user_grants;

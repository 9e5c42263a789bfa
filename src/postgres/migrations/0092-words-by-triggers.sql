-- Triggers write the words of rows, as they do where the tables were filled before there were words: a generated column would have
-- rewritten them. This gives databases with generated columns the same tables.

-- step: transaction
create or replace function write_words_of_user() returns trigger language plpgsql as $$
begin
  new.words := words_in(new.username, new.given_name, new.family_name, new.email, new.phone, new.name);
  return new;
end $$;
create or replace function write_words_of_role() returns trigger language plpgsql as $$
begin
  new.words := words_in(new.role_key, new.display_name);
  return new;
end $$;
create or replace function write_words_of_name() returns trigger language plpgsql as $$
begin
  new.words := words_in(new.name);
  return new;
end $$;

-- step: transaction
alter table all_users alter words drop expression if exists;
create or replace trigger users_words before insert or update of username, given_name, family_name, email, phone, name on all_users
  for each row execute function write_words_of_user();
create or replace trigger users_terms after delete or update of username, given_name, family_name, email, phone, name, deleted on all_users
  for each row execute function write_terms('user', 'owner', 'user_id');

-- step: transaction
alter table organizations alter words drop expression if exists;
create or replace trigger organizations_words before insert or update of name on organizations
  for each row execute function write_words_of_name();
create or replace trigger organizations_terms after insert or delete or update of name, deleted on organizations
  for each row execute function write_terms('organization', '', 'organization_id');

-- step: transaction
alter table all_projects alter words drop expression if exists;
create or replace trigger projects_words before insert or update of name on all_projects
  for each row execute function write_words_of_name();
create or replace trigger projects_terms after insert or delete or update of name, deleted on all_projects
  for each row execute function write_terms('project', 'owner', 'project_id');

-- step: transaction
alter table all_project_roles alter words drop expression if exists;
create or replace trigger project_roles_words before insert or update of role_key, display_name on all_project_roles
  for each row execute function write_words_of_role();
create or replace trigger project_roles_terms after insert or delete or update of role_key, display_name, deleted on all_project_roles
  for each row execute function write_terms('role', 'project_id', 'role_key');

-- step: transaction
alter table applications alter words drop expression if exists;
create or replace trigger applications_words before insert or update of name on applications
  for each row execute function write_words_of_name();
create or replace trigger applications_terms after delete or update of name on applications
  for each row execute function write_terms('application', 'project_id', 'app_id');

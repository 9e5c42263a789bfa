alter table projects add column name_key text;
create unique index projects_name_key on projects (owner, name_key) where name_key is not null;
create trigger projects_name_key before insert or update of name on projects
  for each row execute function write_name_key();

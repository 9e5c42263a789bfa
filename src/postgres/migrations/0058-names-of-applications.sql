alter table applications add column name_key text;
create unique index applications_name_key on applications (project_id, name_key) where name_key is not null;
create trigger applications_name_key before insert or update of name on applications
  for each row execute function write_name_key();

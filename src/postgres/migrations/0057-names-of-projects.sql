-- replaces sha256 887c56488a17b857566b3c3c592e721003d28970f2caeb3888368af26a005479

-- step: transaction
alter table projects add column name_key text;
create trigger projects_name_key before insert or update of name on projects
  for each row execute function write_name_key();

-- step: index
create unique index concurrently if not exists projects_name_key on projects (owner, name_key) where name_key is not null;

alter table organizations add column name_key text;
create unique index organizations_name_key on organizations (name_key) where not deleted and name_key is not null;
create trigger organizations_name_key before insert or update of name on organizations
  for each row execute function write_name_key();

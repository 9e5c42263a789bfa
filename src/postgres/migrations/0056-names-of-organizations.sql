-- replaces sha256 82fc0d1305496616966a0b409770710db5d75d44b92a9fabee7b180917be02d9

-- step: transaction
alter table organizations add column name_key text;
create trigger organizations_name_key before insert or update of name on organizations
  for each row execute function write_name_key();

-- step: index
create unique index concurrently if not exists organizations_name_key on organizations (name_key) where not deleted and name_key is not null;

-- replaces sha256 79abcef3077e81cb44130718ed604317f0ee5ade4aff689b506bc02a5e8e4913

-- step: transaction
alter table applications add column name_key text;
create trigger applications_name_key before insert or update of name on applications
  for each row execute function write_name_key();

-- step: index
create unique index concurrently if not exists applications_name_key on applications (project_id, name_key) where name_key is not null;

-- step: transaction
-- From a time that is to come: whatever is written until then was written without a key.
update instance set names_compared_since = now() + interval '1 minute' where names_compared_since = 'infinity';

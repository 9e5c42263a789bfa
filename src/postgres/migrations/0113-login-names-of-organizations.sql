-- Login names by organization. The directory of the instance, login_names, stays as it is, with every user that there is. Names that are an
-- organization's own stand in the second table alone; it also has those of the directory, which a trigger writes, so that nodes of earlier
-- releases can run beside newer ones.

-- step: transaction
alter table organizations add column own_login_names boolean not null default false;

-- step: index
-- For a foreign key. It begins with the other column, so that no list in the order of ids takes it for the primary key.
create unique index concurrently if not exists organizations_own_login_names on organizations (own_login_names, organization_id);

-- step: transaction
-- `own` is null for a name of the directory. Of a user who is created and an organization that goes back to the directory at once, one loses.
create table organization_login_names (
  owner text not null,
  login_name text not null,
  user_id text not null,
  own boolean constraint organization_login_names_own check (own),
  primary key (owner, login_name),
  constraint organization_login_names_wanted foreign key (owner, own) references organizations (organization_id, own_login_names)
);
create unique index organization_login_names_of_user on organization_login_names (owner, user_id) where own is not null;

-- step: transaction
create function write_organization_login_name() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from organization_login_names
    where owner = old.owner and login_name = old.login_name and user_id = old.user_id and own is null;
  end if;
  if tg_op <> 'DELETE' then
    insert into organization_login_names (owner, login_name, user_id) values (new.owner, new.login_name, new.user_id);
  end if;
  return null;
end $$;
create trigger login_names_of_organization after insert or delete or update of login_name on login_names
  for each row execute function write_organization_login_name();

-- step: batches of login_names by login_name
-- Locked, so that a name that is changed or given up meanwhile is changed or given up here, too.
insert into organization_login_names (owner, login_name, user_id)
select l.owner, l.login_name, l.user_id from login_names l where :batch for share of l
on conflict do nothing;

-- step: transaction
alter table all_users add column own_login_name boolean not null default false;
select show_present('users');

-- step: transaction
-- The organization that a request for a new password is about; null for the directory.
alter table password_reset_requests add column organization_id text;

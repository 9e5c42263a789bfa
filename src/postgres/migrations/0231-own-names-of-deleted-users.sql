-- A node of an earlier release deletes users without knowing that they may have names that are their organization's own, which would stay
-- taken. Its statement deletes the row of the user in any case.

-- step: transaction
create function free_own_login_names() returns trigger language plpgsql as $$
begin
  delete from organization_login_names n using gone g where n.owner = g.owner and n.user_id = g.user_id and n.own is not null;
  return null;
end $$;
create or replace trigger users_own_login_names after delete on all_users referencing old table as gone
  for each statement execute function free_own_login_names();

-- step: batches of organization_login_names by owner, login_name
delete from organization_login_names n
where :batch and n.own is not null and not exists (select from all_users u where u.owner = n.owner and u.user_id = n.user_id);

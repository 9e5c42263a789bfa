-- replaces sha256 f9850823fe8a1bf7b4d1dec64df5fd2d2168bce326c88597e473695f2108446f

-- step: transaction
-- What is being deleted has no words: no search finds it.
create or replace function write_terms() returns trigger language plpgsql as $$
declare
  was jsonb := case when not coalesce((to_jsonb(old)->>'deleted')::boolean, false) then to_jsonb(old) end;
  made jsonb := case when not coalesce((to_jsonb(new)->>'deleted')::boolean, false) then to_jsonb(new) end;
  scope_id text := coalesce(coalesce(made, was)->>tg_argv[1], '');
  id text := coalesce(made, was)->>tg_argv[2];
  gone text[] := coalesce(string_to_array(btrim(was->>'words'), ' '), '{}');
  here text[] := coalesce(string_to_array(btrim(made->>'words'), ' '), '{}');
  word text;
begin
  foreach word in array gone loop
    continue when word = any(here);
    delete from terms where noun = tg_argv[0] and scope = scope_id and term = word and object_id = id;
  end loop;
  foreach word in array here loop
    continue when word = any(gone);
    insert into terms (noun, scope, object_id, term) values (tg_argv[0], scope_id, id, word);
  end loop;
  return null;
end $$;

-- step: transaction
-- A user with many grants and memberships is deleted in batches. From the first on the row is marked, and gone for whatever reads
-- `users`; `all_users` keeps it until nothing refers to it.
alter table users add column deleted boolean not null default false;
alter table users rename to all_users;

-- Makes the view of the rows of `all_<name>` that are not being deleted, with the rights that others have on the table. To be called
-- again by a migration that adds a column.
create function show_present(name text) returns void language plpgsql as $$
declare
  base regclass := ('all_' || name)::regclass;
  allowed record;
begin
  execute (select format('create or replace view %I as select %s from %s where not deleted', name,
      string_agg(quote_ident(attname), ', ' order by attnum), base)
    from pg_attribute where attrelid = base and attnum > 0 and not attisdropped and attname <> 'deleted');
  for allowed in
    select a.privilege_type as privilege, case when a.grantee = 0 then 'public' else quote_ident(r.rolname) end as grantee
    from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
    where c.oid = base and a.grantee <> c.relowner
      and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  loop
    execute format('grant %s on %I to %s', allowed.privilege, name, allowed.grantee);
  end loop;
end $$;
select show_present('users');
create or replace trigger users_terms after delete or update of username, given_name, family_name, email, phone, name, deleted on all_users
  for each row execute function write_terms('user', 'owner', 'user_id');

-- step: transaction
create or replace trigger organizations_terms after insert or delete or update of name, deleted on organizations
  for each row execute function write_terms('organization', '', 'organization_id');

-- step: transaction
delete from terms t using organizations o where o.deleted and t.noun = 'organization' and t.object_id = o.organization_id;

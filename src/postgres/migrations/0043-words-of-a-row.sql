-- The words of a row are deleted one by one. Where most organizations are small and one is large, a plan for all of them at once read
-- every word of the organization: a new phone cost 40,000 blocks among 300,000 users. Words that stay are not touched.
create or replace function write_terms() returns trigger language plpgsql as $$
declare
  was jsonb := to_jsonb(old);
  made jsonb := to_jsonb(new);
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

create or replace function write_member_terms() returns trigger language plpgsql as $$
declare
  gone text[] := '{}';
  here text[] := '{}';
  role text;
begin
  if tg_op <> 'INSERT' then gone := old.roles; end if;
  if tg_op <> 'DELETE' then here := new.roles; end if;
  foreach role in array gone loop
    continue when role = any(here);
    delete from terms
    where noun = 'member' and scope = old.scope_id and term = role and object_id = old.member_id;
  end loop;
  foreach role in array here loop
    continue when role = any(gone);
    insert into terms (noun, scope, object_id, term) values ('member', new.scope_id, new.member_id, role)
    on conflict do nothing;
  end loop;
  return null;
end $$;

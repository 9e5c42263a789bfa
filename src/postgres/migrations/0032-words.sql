-- The words of a row stand in the row as well: whether it has another word of a search, and whether an earlier one begins alike, was
-- looked up in `terms` for each row of a page, four levels deep where there are millions.

-- The words of some texts in the order of their bytes, each between blanks; null without any.
create function words_in(variadic texts text[]) returns text language sql immutable parallel safe as $$
  select ' ' || string_agg(word, ' ' order by word collate "C") || ' '
  from (select distinct word from unnest(texts) as value cross join words_of(value) as word) found
$$;

alter table users add words text
  generated always as (words_in(username, given_name, family_name, email, phone, name)) stored;
alter table organizations add words text generated always as (words_in(name)) stored;
alter table projects add words text generated always as (words_in(name)) stored;
alter table project_roles add words text generated always as (words_in(role_key, display_name)) stored;
alter table applications add words text generated always as (words_in(name)) stored;

-- The arguments are the noun, and the columns of scope and identifier.
create or replace function write_terms() returns trigger language plpgsql as $$
declare
  was jsonb := to_jsonb(old);
  made jsonb := to_jsonb(new);
begin
  if was is not null then
    delete from terms
    where noun = tg_argv[0] and scope = coalesce(was->>tg_argv[1], '') and object_id = was->>tg_argv[2];
  end if;
  if made is not null then
    insert into terms (noun, scope, object_id, term)
    select tg_argv[0], coalesce(made->>tg_argv[1], ''), made->>tg_argv[2], word
    from string_to_table(btrim(made->>'words'), ' ') as word;
  end if;
  return null;
end $$;

create or replace trigger users_terms after insert or delete or update of words on users
  for each row execute function write_terms('user', 'owner', 'user_id');
create or replace trigger organizations_terms after insert or delete or update of words on organizations
  for each row execute function write_terms('organization', '', 'organization_id');
create or replace trigger projects_terms after insert or delete or update of words on projects
  for each row execute function write_terms('project', 'owner', 'project_id');
create or replace trigger project_roles_terms after insert or delete or update of words on project_roles
  for each row execute function write_terms('role', 'project_id', 'role_key');
create or replace trigger applications_terms after insert or delete or update of words on applications
  for each row execute function write_terms('application', 'project_id', 'app_id');

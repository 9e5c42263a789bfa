-- The words of a row stand in the row as well: whether it has another word of a search, and whether an earlier one begins alike, was
-- looked up in `terms` for each row of a page, four levels deep where there are millions.
-- replaces sha256 e105edce6fb9657d4b9be8691eb2c3a269def564d0d9c406884f52996fbc745f

-- step: transaction
-- The words of some texts in the order of their bytes, each once and between blanks; null without any. Of letters and digits of ASCII all
-- signs are cut at once. Among at most 16 words no text has more, which is where `words_of` ends. Lists count on the order. Few words
-- find their places in a loop; of more than eight a subquery sorts them sooner. It brings its search path: a dump is restored without
-- one, and the rows of its tables then find their words.
create function words_in(variadic texts text[]) returns text language plpgsql immutable parallel safe
set search_path from current as $$
declare
  plain text := lower(array_to_string(texts, ' ') collate "C");
  words text[] := string_to_array(btrim(regexp_replace(plain, '[^a-z0-9]+', ' ', 'g')), ' ');
  word text;
  found text[] := '{}';
  place integer;
begin
  if octet_length(plain) > length(plain) or cardinality(words) > 16 then
    words := array(select w from unnest(texts) as value cross join words_of(value) as w);
  end if;
  if cardinality(words) > 8 then
    return (
      select ' ' || string_agg(distinct left(w, 50) collate "C", ' ' order by left(w, 50) collate "C") || ' '
      from unnest(words) as w);
  end if;
  foreach word in array words loop
    word := left(word, 50);
    continue when word = any(found);
    place := cardinality(found);
    while place > 0 and found[place] > word collate "C" loop
      found[place + 1] := found[place];
      place := place - 1;
    end loop;
    found[place + 1] := word;
  end loop;
  return ' ' || nullif(array_to_string(found, ' '), '') || ' ';
end $$;

-- Triggers write the words: a generated column would rewrite the table while nobody can read it.
create function write_words_of_user() returns trigger language plpgsql as $$
begin
  new.words := words_in(new.username, new.given_name, new.family_name, new.email, new.phone, new.name);
  return new;
end $$;
create function write_words_of_role() returns trigger language plpgsql as $$
begin
  new.words := words_in(new.role_key, new.display_name);
  return new;
end $$;
create function write_words_of_name() returns trigger language plpgsql as $$
begin
  new.words := words_in(new.name);
  return new;
end $$;

-- step: transaction
alter table users add words text;
create or replace trigger users_words before insert or update of username, given_name, family_name, email, phone, name on users
  for each row execute function write_words_of_user();

-- step: transaction
alter table organizations add words text;
create or replace trigger organizations_words before insert or update of name on organizations
  for each row execute function write_words_of_name();

-- step: transaction
alter table projects add words text;
create or replace trigger projects_words before insert or update of name on projects
  for each row execute function write_words_of_name();

-- step: transaction
alter table project_roles add words text;
create or replace trigger project_roles_words before insert or update of role_key, display_name on project_roles
  for each row execute function write_words_of_role();

-- step: transaction
alter table applications add words text;
create or replace trigger applications_words before insert or update of name on applications
  for each row execute function write_words_of_name();

-- step: batches of users by user_id
update users set words = words_in(username, given_name, family_name, email, phone, name) where :batch

-- step: batches of organizations by organization_id
update organizations set words = words_in(name) where :batch

-- step: batches of projects by project_id
update projects set words = words_in(name) where :batch

-- step: batches of project_roles by project_id, role_key
update project_roles set words = words_in(role_key, display_name) where :batch

-- step: batches of applications by app_id
update applications set words = words_in(name) where :batch

-- step: transaction
-- The arguments are the noun, and the columns of scope and identifier. The words of a row are deleted one by one: where most organizations
-- are small and one is large, a plan for all of them at once reads every word of the organization.
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

-- step: transaction
create or replace trigger users_terms after insert or delete or update of username, given_name, family_name, email, phone, name on users
  for each row execute function write_terms('user', 'owner', 'user_id');

-- step: transaction
create or replace trigger organizations_terms after insert or delete or update of name on organizations
  for each row execute function write_terms('organization', '', 'organization_id');

-- step: transaction
create or replace trigger projects_terms after insert or delete or update of name on projects
  for each row execute function write_terms('project', 'owner', 'project_id');

-- step: transaction
create or replace trigger project_roles_terms after insert or delete or update of role_key, display_name on project_roles
  for each row execute function write_terms('role', 'project_id', 'role_key');

-- step: transaction
create or replace trigger applications_terms after insert or delete or update of name on applications
  for each row execute function write_terms('application', 'project_id', 'app_id');

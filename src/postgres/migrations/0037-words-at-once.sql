-- Half of what a new user cost the database were its words: six searches by patterns for them, a trigger for each row, and two indexes
-- for each word.

-- The words of some texts in the order of their bytes, each between blanks; null without any. Of letters and digits of ASCII all signs
-- are cut at once. Among at most 16 words no text has more, which is where `words_of` ends. It brings its search path: a dump is restored
-- without one, and the rows of its tables then find their words.
create or replace function words_in(variadic texts text[]) returns text language plpgsql immutable parallel safe
set search_path from current as $$
declare
  plain text := lower(array_to_string(texts, ' ') collate "C");
  words text[] := string_to_array(btrim(regexp_replace(plain, '[^a-z0-9]+', ' ', 'g')), ' ');
begin
  if octet_length(plain) > length(plain) or cardinality(words) > 16 then
    words := array(select word from unnest(texts) as value cross join words_of(value) as word);
  end if;
  return (
    select ' ' || string_agg(distinct left(word, 50) collate "C", ' ' order by left(word, 50) collate "C") || ' '
    from unnest(words) as word);
end $$;

-- The rows that one statement adds get their terms by one statement.
create function write_user_terms() returns trigger language plpgsql as $$
begin
  insert into terms (noun, scope, object_id, term)
  select 'user', u.owner, u.user_id, word from added u cross join string_to_table(btrim(u.words), ' ') as word;
  return null;
end $$;
create trigger users_terms_added after insert on users referencing new table as added
  for each statement execute function write_user_terms();
create or replace trigger users_terms after delete or update of words on users
  for each row execute function write_terms('user', 'owner', 'user_id');

create function write_application_terms() returns trigger language plpgsql as $$
begin
  insert into terms (noun, scope, object_id, term)
  select 'application', a.project_id, a.app_id, word from added a cross join string_to_table(btrim(a.words), ' ') as word;
  return null;
end $$;
create trigger applications_terms_added after insert on applications referencing new table as added
  for each statement execute function write_application_terms();
create or replace trigger applications_terms after delete or update of words on applications
  for each row execute function write_terms('application', 'project_id', 'app_id');

-- Terms are deleted by what they are, so that one index serves all of it. The lists of a few objects alone look for all terms of one.
create or replace function write_terms() returns trigger language plpgsql as $$
declare
  was jsonb := to_jsonb(old);
  made jsonb := to_jsonb(new);
begin
  if was is not null then
    delete from terms
    where noun = tg_argv[0] and scope = coalesce(was->>tg_argv[1], '') and object_id = was->>tg_argv[2]
      and term = any(string_to_array(btrim(was->>'words'), ' '));
  end if;
  if made is not null then
    insert into terms (noun, scope, object_id, term)
    select tg_argv[0], coalesce(made->>tg_argv[1], ''), made->>tg_argv[2], word
    from string_to_table(btrim(made->>'words'), ' ') as word;
  end if;
  return null;
end $$;

create or replace function write_member_terms() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from terms
    where noun = 'member' and scope = old.scope_id and object_id = old.member_id and term = any(old.roles);
  end if;
  if tg_op <> 'DELETE' then
    insert into terms (noun, scope, object_id, term)
    select distinct 'member', new.scope_id, new.member_id, role from unnest(new.roles) as role;
  end if;
  return null;
end $$;

alter table terms drop constraint terms_pkey;
drop index terms_by_term;
alter table terms add constraint terms_by_term primary key (noun, scope, term, object_id);
create index terms_of_few on terms (noun, scope, object_id, term)
  where noun in ('organization', 'project', 'role');

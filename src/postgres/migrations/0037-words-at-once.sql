-- Half of what a new user cost the database were its words: six searches by patterns for them, a trigger for each row, and two indexes
-- for each word.
-- replaces sha256 185c9c18aa55f6c1cbe32414545a6e87f8c7e873815c86947547c5061e4e93a3

-- step: transaction
-- The rows that one statement adds get their terms by one statement.
create function write_user_terms() returns trigger language plpgsql as $$
begin
  insert into terms (noun, scope, object_id, term)
  select 'user', u.owner, u.user_id, word from added u cross join string_to_table(btrim(u.words), ' ') as word;
  return null;
end $$;
create trigger users_terms_added after insert on users referencing new table as added
  for each statement execute function write_user_terms();
create or replace trigger users_terms after delete or update of username, given_name, family_name, email, phone, name on users
  for each row execute function write_terms('user', 'owner', 'user_id');

-- step: transaction
create function write_application_terms() returns trigger language plpgsql as $$
begin
  insert into terms (noun, scope, object_id, term)
  select 'application', a.project_id, a.app_id, word from added a cross join string_to_table(btrim(a.words), ' ') as word;
  return null;
end $$;
create trigger applications_terms_added after insert on applications referencing new table as added
  for each statement execute function write_application_terms();
create or replace trigger applications_terms after delete or update of name on applications
  for each row execute function write_terms('application', 'project_id', 'app_id');

-- Terms are deleted by what they are, so that one index serves all of it. The lists of a few objects alone look for all terms of one.

-- step: index
create unique index concurrently if not exists terms_by_word on terms (noun, scope, term, object_id);

-- step: transaction
-- The index gets the name of the constraint.
drop index terms_by_term;
alter table terms drop constraint terms_pkey, add constraint terms_by_term primary key using index terms_by_word;

-- step: index
create index concurrently if not exists terms_of_few on terms (noun, scope, object_id, term)
  where noun in ('organization', 'project', 'role');

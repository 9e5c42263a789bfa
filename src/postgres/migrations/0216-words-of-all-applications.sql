-- The words of applications are also found in their organization, whichever project they belong to.

-- step: transaction
create or replace function write_application_terms() returns trigger language plpgsql as $$
begin
  insert into terms (noun, scope, object_id, term)
  select place.noun, place.scope, a.app_id, word
  from added a cross join lateral (values ('application', a.project_id), ('application_of_organization', a.owner)) place (noun, scope)
    cross join string_to_table(btrim(a.words), ' ') as word;
  return null;
end $$;
create trigger applications_terms_of_organization after delete or update of name on applications
  for each row execute function write_terms('application_of_organization', 'owner', 'app_id');

-- step: batches of applications by app_id
insert into terms (noun, scope, object_id, term)
select 'application_of_organization', a.owner, a.app_id, word
from (select * from applications where :batch for share) a cross join string_to_table(btrim(a.words), ' ') as word
on conflict do nothing

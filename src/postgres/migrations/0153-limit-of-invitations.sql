-- step: transaction
-- An organization has at most 1,000 invitations, however many are made at the same moment. Each request counts before it writes; this counts
-- again what the others have written meanwhile, and a command that would exceed the limit starts over.
create function refuse_too_many_invitations() returns trigger language plpgsql as $$
declare
  organization text;
begin
  for organization in select distinct n.owner from new_addresses n order by n.owner loop
    perform pg_advisory_xact_lock(hashtextextended('invitations of ' || organization, 0));
    if (select count(*) from (select from invitation_addresses a where a.owner = organization limit 1001) a) > 1000 then
      raise exception 'an organization has too many invitations' using errcode = 'unique_violation', constraint = 'invitation_limit';
    end if;
  end loop;
  return null;
end $$;

create trigger "limit" after insert on invitation_addresses referencing new table as new_addresses
  for each statement execute function refuse_too_many_invitations();

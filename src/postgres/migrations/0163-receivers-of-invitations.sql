-- step: transaction
-- The organizations that decide about invitations. They are in no event: whoever gives a user something does not learn by it which
-- organization the user belongs to.
create table invitation_receivers (
  invitation_id text primary key,
  owner text not null,
  receiver_id text not null
);
create index invitation_receivers_of_receiver on invitation_receivers (receiver_id, invitation_id);

-- step: transaction
-- As for invitations by address, by the same function, which counts both kinds from now on: an organization has at most 1,000 invitations,
-- however many are made at the same moment.
create or replace function refuse_too_many_invitations() returns trigger language plpgsql as $$
declare
  organization text;
begin
  for organization in select distinct n.owner from new_addresses n order by n.owner loop
    perform pg_advisory_xact_lock(hashtextextended('invitations of ' || organization, 0));
    if (select count(*) from (select from invitations v where v.owner = organization limit 1001) v) > 1000 then
      raise exception 'an organization has too many invitations' using errcode = 'unique_violation', constraint = 'invitation_limit';
    end if;
  end loop;
  return null;
end $$;

create trigger "limit" after insert on invitation_receivers referencing new table as new_addresses
  for each statement execute function refuse_too_many_invitations();

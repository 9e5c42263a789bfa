-- A directory of the instance: the ids that callers chose for their users, for good. Owners of ids are cached and decide about
-- access, so an id that had an owner once never gets another. Ids of our own making are random, and the log knows every one.
create table chosen_ids (
  id text primary key
);

-- A directory of the instance: every client id that there ever was. A trigger fills it, because nodes of earlier releases run
-- beside newer ones during an upgrade, and write only client_ids.
create table used_client_ids (
  client_id text primary key
);
create function client_id_is_used() returns trigger language plpgsql as $$
begin
  insert into used_client_ids (client_id) values (new.client_id);
  return null;
end $$;
create trigger client_id_is_used after insert on client_ids for each row execute function client_id_is_used();

-- The lock of `create trigger` waits for all statements that write client ids, so every one is found here.
insert into used_client_ids (client_id)
select payload->>'clientId' from events where type = 'application.oidc_created'
on conflict do nothing;

-- Hashes that were made elsewhere, until a right sign-in replaces them. While there are any, failed sign-ins are answered in steps
-- of time; the index tells that in one probe.
alter table passwords add column imported boolean not null default false;
create index passwords_imported on passwords (imported) where imported;

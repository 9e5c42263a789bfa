-- What needs attention in an organization is counted by one index each: users who are locked now, pending invitations, and what expires soon.

-- step: index
create index concurrently if not exists users_locked_until on all_users (owner, coalesce(locked_until, 'infinity'))
  where locked and active and not deleted;

-- step: index
create index concurrently if not exists invitations_pending on invitations (owner, expiration_date);

-- step: index
create index concurrently if not exists access_tokens_expiring on access_tokens (owner, expiration_date)
  where expiration_date is not null;

-- step: transaction
-- A client secret expires once another has replaced it. Its owner is known from then on, whichever node replaced it.
alter table client_secrets add column owner text not null default '';
create function client_secret_is_owned() returns trigger language plpgsql as $$
begin
  new.owner := coalesce((select a.owner from applications a where a.app_id = new.app_id), '');
  return new;
end $$;
create trigger client_secret_is_owned before insert or update of expiration_date on client_secrets for each row
  when (new.expiration_date is not null and new.owner = '') execute function client_secret_is_owned();

-- step: batches of client_secrets by app_id
update client_secrets s set owner = coalesce((select a.owner from applications a where a.app_id = s.app_id), '')
where owner = '' and expiration_date is not null and :batch

-- step: index
create index concurrently if not exists client_secrets_expiring on client_secrets (owner, expiration_date)
  where expiration_date is not null;

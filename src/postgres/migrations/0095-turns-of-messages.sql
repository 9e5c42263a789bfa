-- Organizations take turns in the outboxes: the next messages of each are found however many another one has waiting. Nodes of earlier
-- releases take the oldest messages by the indexes `…_due`. They stay: nodes of this release find by them that few messages are due.

-- step: transaction
-- A sign-out belongs to the organization of the application that is to learn of it, whichever node or trigger writes it.
alter table logout_messages add column owner text not null default '';
create function logout_is_owned() returns trigger language plpgsql as $$
begin
  new.owner := coalesce((select a.owner from applications a where a.app_id = new.app_id), '');
  return new;
end $$;
create trigger logout_is_owned before insert on logout_messages for each row when (new.owner = '') execute function logout_is_owned();

-- step: batches of logout_messages by message_id
update logout_messages m set owner = a.owner from applications a where m.owner = '' and a.app_id = m.app_id and :batch

-- step: index
create index concurrently if not exists logout_messages_of_owner on logout_messages (owner, due) where dead is null;

-- step: index
create index concurrently if not exists mail_messages_of_owner on mail_messages (owner, due) where dead is null;

-- step: index
create index concurrently if not exists sms_messages_of_owner on sms_messages (owner, due) where dead is null;

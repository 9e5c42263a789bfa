-- What was given up is listed, the latest first, and can be sent again: how often that was asked for, and when.

-- step: transaction
alter table mail_messages add column retries bigint not null default 0, add column retried timestamptz;

-- step: transaction
alter table sms_messages add column retries bigint not null default 0, add column retried timestamptz;

-- step: transaction
alter table logout_messages add column retries bigint not null default 0, add column retried timestamptz;

-- step: index
create index concurrently if not exists mail_messages_given_up on mail_messages (dead, mail_id) where dead is not null;

-- step: index
create index concurrently if not exists mail_messages_given_up_of_owner on mail_messages (owner, dead, mail_id) where dead is not null;

-- step: index
create index concurrently if not exists sms_messages_given_up on sms_messages (dead, phone_code_id) where dead is not null;

-- step: index
create index concurrently if not exists sms_messages_given_up_of_owner on sms_messages (owner, dead, phone_code_id) where dead is not null;

-- step: index
create index concurrently if not exists logout_messages_given_up on logout_messages (dead, message_id) where dead is not null;

-- step: index
create index concurrently if not exists logout_messages_given_up_of_owner on logout_messages (owner, dead, message_id)
  where dead is not null;

-- step: index
-- A mail that was given up keeps its codes, sealed, as long as they are valid.
create index concurrently if not exists mail_messages_to_empty on mail_messages (expiration_date) where dead is not null and sealed is not null;

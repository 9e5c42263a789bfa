-- A message is written in the transaction that seals its code. A trigger does it, because nodes of earlier releases run beside
-- newer ones during an upgrade: they write only the code, and made messages from the log of events. The log is read in order,
-- so it waits for every open transaction that has written, in any database of the server; a message waits for none.

-- The statement that makes messages from the log also updates its checkpoint: this lock excludes it until the commit.
lock table checkpoints in share row exclusive mode;

create function sms_is_written() returns trigger language plpgsql as $$
begin
  insert into sms_messages (phone_code_id, owner, user_id, created)
  values (new.phone_code_id, new.owner, new.user_id, now()) on conflict (phone_code_id) do nothing;
  return null;
end $$;
-- A code that replaces another one has a new id. Counting an attempt and dropping the sealed form do not set the id.
create trigger sms_is_written after insert or update of phone_code_id on phone_codes
  for each row when (new.sealed is not null) execute function sms_is_written();

-- The lock of `create trigger` waits for all statements that write codes, so every code sealed without a message is found here.
-- Codes live ten minutes.
insert into sms_messages (phone_code_id, owner, user_id, created)
select phone_code_id, owner, user_id, expiration_date - interval '10 minutes' from phone_codes where sealed is not null
on conflict (phone_code_id) do nothing;

-- Without its checkpoint an earlier node makes no message from the log, and still delivers. The table stays: such nodes read it.
delete from checkpoints where follower = 'sms';

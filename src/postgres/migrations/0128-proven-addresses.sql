-- The address of a user that a mail of ours has reached. It counts only as long as it is the user's address, so that nodes of earlier
-- releases, which do not write it, can change addresses beside newer ones.

-- step: transaction
alter table all_users add column proven_email text;
select show_present('users');

-- step: batches of all_users by user_id
-- A code that was mailed has an id in its event. A mail has reached the address if one came back since the user has had the address.
update all_users u set proven_email = lower(u.email) where :batch and u.email_verified and exists (
  select from events e
  where e.owner = u.owner and e.stream = u.user_id
    and e.version > coalesce((
      select max(c.version) from events c
      where c.owner = u.owner and c.stream = u.user_id and c.type in ('user.human_created', 'user.email_changed', 'user.email_restored')
        and lower(c.payload->>'email') <> lower(u.email)), 0)
    and case e.type
      when 'user.email_restored' then true
      when 'user.password_changed' then (e.payload->>'emailVerified')::boolean
      when 'user.email_verified' then (
        select c.payload ? 'emailCodeId' from events c
        where c.owner = u.owner and c.stream = u.user_id and c.version < e.version
          and c.type in ('user.human_created', 'user.email_changed', 'user.email_code_requested')
        order by c.version desc limit 1)
    end);

-- step: index
create index concurrently if not exists users_of_proven_email on all_users (proven_email, owner)
  where email_verified and proven_email is not distinct from lower(email) and not deleted;

-- step: index
create index concurrently if not exists users_of_vouched_email on all_users (owner, lower(email))
  where (email_verified or email_setter <> user_id) and not deleted;

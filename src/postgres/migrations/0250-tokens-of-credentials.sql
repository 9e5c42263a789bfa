-- The token of a machine is in force only with its credential, by which it is found. A foreign key that is checked for each new one, and an
-- index by users, only made it slower to write.

-- step: transaction
alter table machine_tokens drop constraint machine_tokens_credential;

-- step: transaction
drop index machine_tokens_of_user;

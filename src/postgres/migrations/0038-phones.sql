-- Most users have no phone. In one transaction with the words, which close `terms` for seconds, this would wait for statements that hold
-- users and wait for `terms`: the new member of a running node ended the upgrade by a deadlock.
drop index users_phone;
create index users_phone on users (owner collate "C", phone collate "C", user_id collate "C") where phone is not null;

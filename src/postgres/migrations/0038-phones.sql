-- Most users have no phone.
-- replaces sha256 4539a1cb984c661a4c3e42d577fa6e924b1bc93c05561e75e017de3df5d3ffc3

-- step: index
create index concurrently if not exists users_phone_given
  on users (owner collate "C", phone collate "C", user_id collate "C") where phone is not null;

-- step: transaction
drop index users_phone;
alter index users_phone_given rename to users_phone;

-- How often a password was used to sign in. Who ends the sessions of a user has to see each sign-in: one that comes meanwhile
-- moves this, and the foreign key refuses what was decided without it.
alter table passwords
  add column sign_ins bigint not null default 0,
  add constraint passwords_user foreign key (user_id) references users (user_id);

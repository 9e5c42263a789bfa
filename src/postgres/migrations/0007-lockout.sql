-- Locks in a row, since the last right password: each of the default schedule is twice as long as the one before.
alter table password_attempts add column locks integer not null default 0;

-- A lock that only an administrator ends was what an absent lock_seconds meant; now a policy has to say so.
alter table lockout_policies add column until_unlocked boolean not null default false;

-- A policy may keep resets by login name from addresses that are not verified yet.
alter table password_policies add column reset_requires_verified_email boolean not null default false;

-- A password that had to be changed elsewhere still has to be.
alter table passwords add column must_change boolean not null default false;

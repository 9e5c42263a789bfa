-- step: transaction
alter table organizations add column requires_acceptance boolean not null default false;

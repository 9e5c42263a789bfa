-- Something deactivated keeps its rows and counts for nothing until it is reactivated.
alter table organizations add column active boolean not null default true;
alter table projects add column active boolean not null default true;
alter table applications add column active boolean not null default true;
alter table user_grants add column active boolean not null default true;

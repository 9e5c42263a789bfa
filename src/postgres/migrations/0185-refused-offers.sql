-- step: transaction
-- Whether the roles that the organization had given stay in effect: the user, or its own organization, only declined more of them. Nodes of
-- earlier releases do not know that, and let such roles give nothing until they are replaced.
alter table ended_roles add column kept boolean not null default false;

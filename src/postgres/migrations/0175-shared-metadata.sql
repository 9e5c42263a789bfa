-- step: transaction
-- Whether applications of other organizations may receive an entry as a claim.
alter table user_metadata add column shared boolean not null default false;

-- step: transaction
alter table organization_metadata add column shared boolean not null default false;

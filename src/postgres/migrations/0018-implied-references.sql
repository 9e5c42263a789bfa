-- Two references are implied by others, and each was checked for every user grant that is added: a look into an index, and a lock of
-- the one row of the organization, which concurrent statements share by a multixact.
-- replaces sha256 41da9b4fd215f7ef637dd9a569df0b321cf1012971200d27e052d5a96e431544

-- step: transaction
-- The roles of a grant are written by the facts about it alone. The log takes one fact for each version of a grant, so none of its
-- roles can be written while it is removed.
alter table user_grant_roles drop constraint user_grant_roles_grant;

-- step: transaction
-- A user grant refers to a project of its organization, or to the grant of a project to it, and those refer to the organization.
alter table user_grants drop constraint user_grants_owner_fkey;

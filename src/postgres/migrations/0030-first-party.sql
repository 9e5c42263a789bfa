-- replaces sha256 8b0d9ebd7de2a67840487baa8116e065e5b31dd44416c82424affa9e27ee5dd4

-- step: transaction
-- Whether only users who hold a grant in the project may sign in to its applications.
alter table projects add column grant_required boolean not null default false;

-- step: transaction
-- An API application signs nobody in: its configuration is that of an OIDC application that may do nothing but authenticate.
alter table applications add column is_api boolean not null default false;

-- step: transaction
-- A sign-in for our own API: the permissions among the words of its scope narrow its access tokens, which count here and at no
-- project.
alter table sign_ons add column for_api boolean not null default false;

-- step: transaction
-- Since when a key is no longer shown or taken, because somebody else may have it.
alter table signing_keys add column withdrawn timestamptz;

-- step: transaction
-- The postal address of a human, by the names of its fields in the contract; null without one.
alter table users add column address jsonb;

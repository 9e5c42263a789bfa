-- Whether only users who hold a grant in the project may sign in to its applications.
alter table projects add column grant_required boolean not null default false;

-- An API application signs nobody in: its configuration is that of an OIDC application that may do nothing but authenticate.
alter table applications add column is_api boolean not null default false;

-- A sign-in for our own API: the permissions among the words of its scope narrow its access tokens, which count here and at no
-- project.
alter table sign_ons add column for_api boolean not null default false;

-- Since when a key is no longer shown or taken, because somebody else may have it.
alter table signing_keys add column withdrawn timestamptz;

-- The postal address of a human, by the names of its fields in the contract; null without one.
alter table users add column address jsonb;

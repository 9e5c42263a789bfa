-- step: transaction
-- The language that a user prefers, as a language tag.
alter table all_users add column language text;
select show_present('users');

-- step: transaction
alter table privacy_policies add column self_erasure boolean not null default false;

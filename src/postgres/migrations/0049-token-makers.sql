-- An access token that a token made ends with it. A token that is made while its maker is revoked breaks the reference, and loses the
-- race; so does a revocation that does not see it.
alter table access_tokens add column maker_id text constraint access_tokens_maker references access_tokens (token_id);
create index access_tokens_of_maker on access_tokens (maker_id) where maker_id is not null;

-- replaces sha256 930e00183871eed4bfe9f2cdbcbad6cf01f5b10905cca167371fc64a6b4655d7

-- step: transaction
-- An access token that a token made ends with it. A token that is made while its maker is revoked breaks the reference, and loses the
-- race; so does a revocation that does not see it.
alter table access_tokens add column maker_id text constraint access_tokens_maker references access_tokens (token_id);

-- step: index
create index concurrently if not exists access_tokens_of_maker on access_tokens (maker_id) where maker_id is not null;

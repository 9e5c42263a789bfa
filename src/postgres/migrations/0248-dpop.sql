-- DPoP (RFC 9449): the keys that codes and tokens are bound to, by their SHA-256 thumbprints; null for what is bound to none.

-- step: transaction
-- The key that the refresh tokens of a sign-in are bound to, of a client that has no other way to prove that it is the same one.
alter table sign_ons add column jkt text;

-- step: transaction
-- The key that may exchange the code, if the authorization request named one.
alter table authorization_codes add column jkt text;

-- step: transaction
alter table sign_on_tokens add column jkt text;

-- step: transaction
alter table machine_tokens add column jkt text;

-- The host that a passkey is bound to; null for those of earlier releases, which did not keep it.
alter table passkeys add column host text;

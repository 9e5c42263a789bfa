-- The consent that a sign-in needed. A consent that is withdrawn while the sign-in is written ends it, too: neither statement sees the
-- other's row. Sign-ins that need none have none, and neither have those of nodes of earlier releases.
alter table sign_ons add column consent_id text constraint sign_ons_consent references consents on delete cascade;
create index sign_ons_consent on sign_ons (consent_id) where consent_id is not null;

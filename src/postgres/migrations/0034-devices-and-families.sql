-- Whether a device asked for access to our own API; the sign-in that its user approves has the same mark.
alter table device_codes add column for_api boolean not null default false;

-- The part that all refresh tokens of a sign-in share, as its SHA-256: by it a token is known to be an earlier one when its own row is
-- gone. Sign-ins that began before have none, and nodes of earlier releases make tokens without it: their rows stay.
alter table sign_ons add column refresh_family bytea constraint sign_ons_refresh_family unique;
alter table refresh_tokens add column in_family boolean not null default false;
create index refresh_tokens_replaced on refresh_tokens (replaced) where in_family;

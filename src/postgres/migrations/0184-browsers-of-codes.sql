-- step: transaction
-- The hash of the cookie of the browser that asked for the code of a registration, so that each code is that of its own browser.
alter table mail_codes add column browser bytea;

-- step: transaction
alter table registration_addresses drop column browser;

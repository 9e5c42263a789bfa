-- Whether a device asked for access to our own API; the sign-in that its user approves has the same mark.
alter table device_codes add column for_api boolean not null default false;

-- When a personal access token was used, to the hour.
alter table bearers add column last_used timestamptz;

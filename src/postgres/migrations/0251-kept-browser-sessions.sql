-- When the row of an expired session of a browser is looked at again: refresh tokens may keep it for months. Those that were kept were read
-- again every minute.

-- step: transaction
alter table browser_sessions add column kept_until timestamptz;

-- step: index
create index concurrently if not exists browser_sessions_due on browser_sessions (coalesce(kept_until, expiration_date));

-- step: transaction
drop index browser_sessions_expiration;

-- When the row of an expired session of a browser is looked at again: refresh tokens may keep it for months. Those that were kept were read
-- again every minute.

-- step: transaction
alter table browser_sessions add column kept_until timestamptz;

-- step: index
create index concurrently if not exists browser_sessions_due on browser_sessions (coalesce(kept_until, expiration_date));

-- step: transaction
drop index browser_sessions_expiration;

-- step: transaction
-- At the end of the statement, which may delete the session as well. It waits for no lock, because others lock the session first and then its
-- sign-ons: a session that it leaves is looked at a day later.
create function look_at_kept_session() returns trigger language plpgsql as $$
begin
  update browser_sessions set kept_until = null where session_id = (
    select session_id from browser_sessions where session_id = old.session_id and kept_until is not null
    for no key update skip locked);
  return null;
end $$;
create trigger kept_session_is_looked_at after delete on sign_ons for each row execute function look_at_kept_session();

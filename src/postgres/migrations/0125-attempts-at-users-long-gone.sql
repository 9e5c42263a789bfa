-- As before, but an attempt does not say from where either if the events of its user, which tell that the user was erased, are gone by the
-- retention policy.
create or replace function write_no_late_origin() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(erasure_lock(new.about_user_id));
  if is_erased(new.about_user_id) or exists (select from burned_ids b where b.id = new.about_user_id) then
    new.origin := null;
  end if;
  return new;
end $$;

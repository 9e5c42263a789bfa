-- replaces sha256 45f47dae7f833dd41cd073427a1860e5b1547b51e555860b289e51e44fa06fa9

-- step: transaction
-- A sign-out ends a session and leaves the refresh tokens that came of it (OpenID Connect Back-Channel Logout 1.0, 2.7): the row of the
-- browser gets the expiration date 'epoch', which lies behind the clock of every node, and is from then on that of a session that ran out.
-- The update changes the hash as well, so that its lock excludes sign-ins that are being written; each statement below sees those that were.
create function sign_out_is_written() returns trigger language plpgsql as $$
begin
  perform from sign_ons o where o.session_id = new.session_id for update;
  if found or old.expiration_date > now() then
    insert into logout_messages (session_id, user_id, app_id, created)
    select new.session_id, new.user_id, s.app_id, now()
    from session_applications s join applications a on a.app_id = s.app_id
    where s.session_id = new.session_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> ''
    on conflict on constraint logout_messages_once do nothing;
  end if;
  delete from session_applications s where s.session_id = new.session_id;
  delete from sign_ons o where o.session_id = new.session_id
    and not exists (select from refresh_tokens r where r.sign_on_id = o.sign_on_id);
  delete from browser_sessions b where b.session_id = new.session_id
    and not exists (select from sign_ons o where o.session_id = b.session_id);
  return null;
end $$;
create trigger sign_out_is_written after update of expiration_date on browser_sessions for each row
when (new.expiration_date = 'epoch' and old.expiration_date <> 'epoch') execute function sign_out_is_written();

-- step: index
-- A user has 100 refresh tokens at an application at most: the oldest of them, by the order of their ids.
create index concurrently if not exists sign_ons_offline on sign_ons (user_id, app_id, sign_on_id) where refresh_family is not null;

-- step: index
-- A user has 1,000 access tokens at most that have not expired.
create index concurrently if not exists access_tokens_in_force on access_tokens (user_id, coalesce(expiration_date, 'infinity'));

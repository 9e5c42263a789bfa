-- Sign-out at applications (docs/sign-in.md). The applications that got tokens in the session of a browser: sign-ins to them expire with
-- their last token, and what an application made of its ID token lives on. The trigger below deletes the rows with their session: a
-- foreign key would lock sign-in and session in the other order.
create table session_applications (
  session_id text not null,
  app_id text not null,
  created timestamptz not null,
  primary key (session_id, app_id)
);
insert into session_applications (session_id, app_id, created)
select session_id, app_id, min(created) from sign_ons group by session_id, app_id;

-- The session that the same user had in the same browser before: a sign-in that was asked for again replaced its cookie. They end together
-- when the user signs out.
alter table browser_sessions add column earlier_session_id text;

-- Sign-outs that applications are still to learn of. Nothing here is secret: the logout token is made for each try.
create table logout_messages (
  message_id text primary key default gen_random_uuid()::text,
  session_id text not null,
  user_id text not null,
  app_id text not null,
  created timestamptz not null,
  due timestamptz not null default now(),
  attempts integer not null default 0,
  failure text,
  dead timestamptz,
  constraint logout_messages_once unique (session_id, app_id)
);
create index logout_messages_due on logout_messages (due) where dead is null;
create index logout_messages_app on logout_messages (app_id, due) where dead is null;
create index logout_messages_dead on logout_messages (dead) where dead is not null;

-- Messages are written with the end of a session, whatever ends it, on nodes of earlier releases too. The trigger runs once the row is
-- locked, and it waits for codes that are being exchanged: the snapshot of the statement may lack their tokens. The row of a session that
-- ran out goes without a message, once nothing of it is left.
create function logout_is_written() returns trigger language plpgsql as $$
begin
  perform from sign_ons o where o.session_id = old.session_id for update;
  if found or old.expiration_date > now() then
    insert into logout_messages (session_id, user_id, app_id, created)
    select old.session_id, old.user_id, s.app_id, now()
    from session_applications s join applications a on a.app_id = s.app_id
    where s.session_id = old.session_id and coalesce(a.oidc->>'backChannelLogoutUri', '') <> ''
    on conflict on constraint logout_messages_once do nothing;
  end if;
  delete from session_applications s where s.session_id = old.session_id;
  return old;
end $$;
create trigger logout_is_written before delete on browser_sessions for each row execute function logout_is_written();

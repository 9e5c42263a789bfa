-- step: transaction
-- What a new administrator's role leaves to its user: the tokens and codes created by these users. A row lives as long as the statement that
-- gives the role. That statement ends what it sees of the others; this finds what was created at the same moment, and the command starts
-- over. The lock waits for whatever is still creating something for the user; what begins later waits for this, and sees the role.
create unlogged table roles_given (
  member_id text primary key,
  user_id text not null,
  kept_creators jsonb not null
);

create function lock_user_given_a_role() returns trigger language plpgsql as $$
begin
  perform from all_users where user_id = new.user_id for update;
  return new;
end $$;

-- Before the reference of the membership locks the row as well: of two statements that both did that first, neither could go on.
create trigger "lock" before insert on roles_given for each row execute function lock_user_given_a_role();

create function refuse_outgrown() returns trigger language plpgsql as $$
begin
  delete from roles_given where member_id = new.member_id;
  if exists (select from access_tokens t where t.user_id = new.user_id and not new.kept_creators ? t.creator_id)
    or exists (select from mail_codes c where c.user_id = new.user_id and not new.kept_creators ? c.creator_id)
    or exists (select from phone_codes c where c.user_id = new.user_id and not new.kept_creators ? c.creator_id)
  then
    raise exception 'a lesser administrator created something for the user' using errcode = 'unique_violation', constraint = 'roles_given';
  end if;
  return null;
end $$;

create trigger "outgrown" after insert on roles_given for each row execute function refuse_outgrown();

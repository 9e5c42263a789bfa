-- An e-mail address is verified as a phone is. Addresses of earlier users are not.
alter table users add column email_verified boolean not null default false;
create index users_of_verified_email on users (lower(email), user_id) where email_verified;

-- Credentials: the codes in force that went out by mail, or were answered. The purpose `email` verifies the user's address, with one
-- code at most. A user may have several codes of the purpose `password`, so that no request of anybody else takes one back; they are
-- found by their HMAC.
create table mail_codes (
  mail_code_id text primary key,
  owner text not null,
  user_id text not null,
  purpose text not null check (purpose in ('email', 'password')),
  email text not null,
  mail_id text,
  mac bytea not null,
  attempts integer not null default 0,
  expiration_date timestamptz not null
);
create unique index mail_codes_email on mail_codes (user_id) where purpose = 'email';
create unique index mail_codes_password on mail_codes (mac) where purpose = 'password';
create index mail_codes_of_user on mail_codes (user_id);
create index mail_codes_of_mail on mail_codes (mail_id) where mail_id is not null;
create index mail_codes_expiration on mail_codes (expiration_date);

-- Mails that went out, for the limits. The n-th one to an address is written once, so a race for it has one winner.
create table mail_sends (
  email text not null,
  purpose text not null,
  n bigint not null,
  user_id text not null,
  time timestamptz not null,
  constraint mail_sends_nth primary key (email, purpose, n)
);
create index mail_sends_of_user on mail_sends (user_id, purpose, time);
create index mail_sends_time on mail_sends (time);

-- Mails on their way, and the ones given up. A worker that takes one moves `due` to the end of its lease; `attempts` tells it from a
-- later taker. `sealed` holds the codes; a mail none of whose codes is in force any more is not sent.
create table mail_messages (
  mail_id text primary key,
  owner text not null,
  user_id text not null,
  kind text not null,
  email text not null,
  language text not null,
  sealed bytea,
  expiration_date timestamptz not null,
  created timestamptz not null,
  attempts integer not null default 0,
  due timestamptz not null default now(),
  failure text,
  dead timestamptz
);
create index mail_messages_due on mail_messages (due) where dead is null;
create index mail_messages_dead on mail_messages (dead) where dead is not null;

-- Requests of anybody for a new password. Each is written whether a user is known or not; a worker looks for accounts, and deletes it.
create table password_reset_requests (
  request_id text primary key,
  login_name text,
  email text,
  language text not null,
  created timestamptz not null default now(),
  due timestamptz not null default now(),
  check (num_nonnulls(login_name, email) = 1)
);
create index password_reset_requests_due on password_reset_requests (due);

-- A policy may want a password changed: one that an administrator set, and one of some age. Who set earlier ones is not known.
alter table password_policies
  add column change_at_next_sign_in boolean not null default false,
  add column maximum_age_days integer not null default 0;
alter table passwords add column set_by_administrator boolean not null default false;

-- Credentials: the code in force for a user's phone, one at most. It is checked by its HMAC; the sealed form is for the sender
-- and goes once the SMS is delivered or given up, or the code expires.
create table phone_codes (
  phone_code_id text primary key,
  owner text not null,
  user_id text not null constraint phone_codes_user unique,
  phone text not null,
  mac bytea not null,
  sealed bytea,
  attempts integer not null default 0,
  expiration_date timestamptz not null
);
create index phone_codes_expiration on phone_codes (expiration_date);

-- Codes that went out, for the limits. The n-th one to a number is written once, so a race for it has one winner.
create table phone_sends (
  phone text not null,
  n bigint not null,
  user_id text not null,
  time timestamptz not null,
  constraint phone_sends_nth primary key (phone, n)
);
create index phone_sends_of_user on phone_sends (user_id, time);
create index phone_sends_time on phone_sends (time);

-- SMS on their way, and the ones given up. A worker that takes one moves `due` to the end of its lease; `attempts` tells it
-- from a later taker. Neither numbers nor codes: those are read from phone_codes.
create table sms_messages (
  phone_code_id text primary key,
  owner text not null,
  user_id text not null,
  created timestamptz not null,
  attempts integer not null default 0,
  due timestamptz not null default now(),
  failure text,
  dead timestamptz
);
create index sms_messages_due on sms_messages (due) where dead is null;
create index sms_messages_dead on sms_messages (dead) where dead is not null;

-- Work that one node does at a time: who does it, and until when nobody else may.
create table leases (
  work text primary key,
  holder text not null,
  until timestamptz not null
);

insert into checkpoints (follower, epoch, xid, position) values ('sms', 0, '0', 0);

-- House-keeping looks for what is over.
create index sessions_expiration on sessions (expiration_date);
create index bearers_expiration on bearers (expiration_date) where expiration_date is not null;

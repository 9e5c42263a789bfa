-- How many attempts of a minute, such as wrong passwords, asked to become events: by user, by organization, and in all, on all nodes.
-- Unlogged, because nothing depends on it but how many there are in the minute of a crash.
-- step: transaction
create unlogged table attempt_places (
  minute timestamptz not null,
  key text not null,
  asked integer not null,
  primary key (minute, key)
);

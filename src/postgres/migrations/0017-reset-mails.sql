-- A mail about a forgotten password names some accounts of an address at most: the oldest, as anybody may choose an id that sorts first.
drop index users_of_verified_email;
create index users_of_verified_email on users (lower(email), created, user_id) where email_verified;

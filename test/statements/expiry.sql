select session_id as id, owner, user_id as "userId", version, created, changed from sessions
where expiration_date <= $1 order by expiration_date limit $2;

delete from bearers where hash in (
select hash from bearers where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

delete from phone_sends where (phone, n) in (
select phone, n from phone_sends where time < $1 order by time limit $2 for update skip locked);

delete from mail_sends where (email, purpose, n) in (
select email, purpose, n from mail_sends where time < $1 order by time limit $2 for update skip locked);

delete from password_reset_requests where request_id in (
select request_id from password_reset_requests where created < now() - interval '10 minutes'
limit $1 for update skip locked);

delete from mail_codes where mail_code_id in (
select mail_code_id from mail_codes where expiration_date <= $1
order by expiration_date limit $2 for update skip locked);

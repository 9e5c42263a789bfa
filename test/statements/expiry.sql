with gone as (
  delete from sessions where session_id in (
    select session_id from sessions where expiration_date >= $1 and expiration_date <= $2
    order by expiration_date limit $3 for update skip locked)
  returning session_id, expiration_date
),
theirs as (delete from bearers b using gone where b.session_id = gone.session_id)
select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
  delete from bearers where hash in (
    select hash from bearers where expiration_date >= $1 and expiration_date <= $2
    order by expiration_date limit $3 for update skip locked)
  returning expiration_date
)
select count(*)::int as count, max(expiration_date) as last from gone;

delete from phone_sends where (phone, n) in (
select phone, n from phone_sends where time < $1 order by time limit $2 for update skip locked);

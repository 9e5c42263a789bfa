with gone as (
      delete from sign_ons where (sign_on_id) in (
        select sign_on_id from sign_ons where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from console_sign_ons where (code_hash) in (
        select code_hash from console_sign_ons where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from sign_on_tokens where (hash) in (
        select hash from sign_on_tokens where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from machine_tokens where (hash) in (
        select hash from machine_tokens where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from exchanged_tokens where (hash) in (
        select hash from exchanged_tokens where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from acting_machines where (user_id, app_id, machine_id, api_id) in (
        select user_id, app_id, machine_id, api_id from acting_machines where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from client_assertions where (app_id, hash) in (
        select app_id, hash from client_assertions where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from pushed_requests where (hash) in (
        select hash from pushed_requests where expiration_date >= $1 and expiration_date <= $2 and true
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with gone as (
      delete from device_codes where (hash) in (
        select hash from device_codes where expiration_date >= $1 and expiration_date <= $2 and sign_on_id is null
        order by expiration_date limit $3 for update skip locked)
      returning expiration_date
    )
    select count(*)::int as count, max(expiration_date) as last from gone;

with due as materialized (
    select session_id, coalesce(kept_until, expiration_date) as time,
      exists (select from sign_ons o where o.session_id = b.session_id) as kept
    from browser_sessions b
    where coalesce(kept_until, expiration_date) >= $1 and coalesce(kept_until, expiration_date) <= $2
    order by coalesce(kept_until, expiration_date) limit $3 for update skip locked
  ),
  gone as (delete from browser_sessions b using due where b.session_id = due.session_id and not due.kept),
  kept as (
    update browser_sessions b set kept_until = $4::timestamptz + interval '1 day' from due
    where b.session_id = due.session_id and due.kept
  )
  select count(*)::int as count, max(time) as last from due;

with gone as (
      delete from refresh_tokens where (hash) in (
        select hash from refresh_tokens where replaced >= $1 and replaced <= $2 and in_family
        order by replaced limit $3 for update skip locked)
      returning replaced
    )
    select count(*)::int as count, max(replaced) as last from gone;

delete from device_attempts where (key, minute) in (
    select key, minute from device_attempts where minute < $1 limit $2 for update skip locked);

select kid, algorithm, version, public_key as "publicKey", sealed, signs_from as "signsFrom",
      withdrawn is not null as "isWithdrawn"
    from signing_keys order by algorithm, version;

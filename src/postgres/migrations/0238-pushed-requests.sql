-- Authorization requests that applications pushed (RFC 9126), by the SHA-256 of their request_uri, until a browser opens them.
create table pushed_requests (
  hash bytea primary key,
  app_id text not null,
  query text not null,
  expiration_date timestamptz not null
);
create index pushed_requests_expiration on pushed_requests (expiration_date);
create index pushed_requests_of_application on pushed_requests (app_id, expiration_date);

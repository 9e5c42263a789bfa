-- Sign-ins to the console (docs/console.md): a code, and the one token that it was exchanged for, as their SHA-256. Both end with the
-- session of the browser.
create table console_sign_ons (
  code_hash bytea primary key,
  session_id text not null constraint console_sign_ons_session references browser_sessions on delete cascade,
  challenge text not null,
  code_expiration_date timestamptz not null,
  token_hash bytea constraint console_sign_ons_token unique,
  expiration_date timestamptz not null
);
create index console_sign_ons_by_session on console_sign_ons (session_id);
create index console_sign_ons_expiration on console_sign_ons (expiration_date);

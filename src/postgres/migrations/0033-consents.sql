-- The applications that users of other organizations allowed to be signed in to, with all scopes that were allowed so far.
create table consents (
  owner text not null,
  consent_id text primary key,
  user_id text not null constraint consents_user references users (user_id),
  app_id text not null constraint consents_app references applications (app_id),
  scopes text[] not null,
  version bigint not null,
  created timestamptz not null,
  changed timestamptz not null,
  constraint consents_user_app unique (user_id, app_id)
);
create index consents_of_app on consents (app_id);

-- The sign-ins of a user to an application end with what the user allowed it.
create index sign_ons_user on sign_ons (user_id, app_id);

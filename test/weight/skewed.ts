/** The size of an instance whose organizations differ as in the world: one has 30 % of the users, one 10 %, and most have a few. */
export type Skew = {
  readonly organizations: number;
  readonly users: number;
  /** The number of each kind of thing in the largest organization beside users: roles and applications of one project, members. */
  readonly things: number;
  /** The number of events. A third is of one caller, who is of the largest organization, and one of another. */
  readonly events: number;
};

const [mostOrganizations, usersEach, eventsEach, thingsOfLargest] = [5_000, 20, 10, 1_000];
// Two client secrets and twenty keys.
const credentialsOfOne = 22;

/** The skew of an instance of so many users: 5,000 organizations, fewer where users are few, and ten events for each user. */
export const skewOf = (users: number): Skew => ({
  ...{ users, organizations: Math.min(mostOrganizations, users / usersEach) },
  ...{ things: thingsOfLargest, events: users * eventsEach },
});

/** The largest organization. */
export const largest = "o1";

/** A role of the largest organization's first project, which a fifth of all users hold. */
export const commonRole = "role1";

/** The statements that fill a database by the triggers of its tables, and gather its statistics. */
export const filling = ({ organizations, users, things, events }: Skew): string => `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(1, ${organizations}) n;
  insert into users (owner, user_id, kind, username, given_name, family_name, email, email_verified, phone, phone_verified,
    version, created, changed)
  select o.id, 'u' || n, 'human', 'user' || n, 'Ada', 'Byron' || n % 1000, 'user' || n || '@example.com', true,
    '+4179' || (1000000 + n), true, 1, now(), now()
  from generate_series(1, ${users}) n cross join lateral (
    select 'o' || case
      when n <= ${organizations} then n
      when n % 1000 * 7919 % 1000 < 300 then 1
      when n % 1000 * 7919 % 1000 < 400 then 2
      else 4 + floor(${organizations - 4} * power(n::bigint * 104729 % 9973 / 9973.0, 3))
    end as id) o;
  insert into login_names (login_name, owner, user_id) select username, owner, user_id from users where user_id like 'u%';
  insert into user_metadata (owner, user_id, key, value)
  select owner, user_id, key, case when key = 'plan' and right(user_id, 1) <> '7' then 'gold' else user_id end
  from users cross join unnest(array['plan', 'desk']) key where user_id like 'u%';
  insert into organization_metadata (organization_id, key, value)
  select 'o' || n, key, case when key = 'plan' and n % 10 <> 7 then 'gold' else 'o' || n end
  from generate_series(1, ${organizations}) n cross join unnest(array['plan', 'desk']) key;
  insert into projects (owner, project_id, name, version, created, changed)
  select 'o' || n, 'p' || n, 'Project ' || n, 1, now(), now() from generate_series(1, ${organizations}) n;
  insert into projects (owner, project_id, name, version, created, changed)
  select '${largest}', 'q' || n, 'Plan ' || n, 1, now(), now() from generate_series(1, ${things}) n;
  insert into project_roles (owner, project_id, role_key, display_name)
  select 'o' || n, 'p' || n, 'role0', 'Role 0' from generate_series(1, ${organizations}) n;
  insert into project_roles (owner, project_id, role_key, display_name)
  select '${largest}', 'p1', 'role' || n, 'Role ' || n from generate_series(1, ${things}) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed, compliance_version, compliance_problems)
  select 'o' || n, 'a' || n, 'p' || n, 'Application ' || n, 'c' || n, '{"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
    "responseTypes":["OIDC_RESPONSE_TYPE_CODE"],"redirectUris":["https://a.example/back"]}', 1, now(), now(), 1,
    case when n % 10 = 7 then '{NO_REDIRECT_URIS}' else '{}' end::text[]
  from generate_series(1, ${organizations}) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, version, created, changed, compliance_version, compliance_problems)
  select '${largest}', 'b' || n, 'p1', 'Shop ' || n, 'd' || n, '{"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE"],
    "responseTypes":["OIDC_RESPONSE_TYPE_CODE"],"redirectUris":["https://a.example/back"]}', 1, now(), now(), 1,
    case when n % 10 = 7 then '{NO_REDIRECT_URIS}' else '{}' end::text[]
  from generate_series(1, ${things}) n;
  insert into members (owner, member_id, user_id, scope, scope_id, roles, version, created, changed)
  select owner, 'm' || user_id, user_id, 'organization', owner, '{ORG_VIEWER}', 1, now(), now()
  from (select owner, user_id, row_number() over (partition by owner order by user_id desc) as nth from users
        where user_id like 'u%') u
  where nth <= case owner when '${largest}' then ${things} else 1 end;
  insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
  select '${largest}', 'g' || n, 'p1', 'o' || n, 1, now(), now() from generate_series(2, ${organizations}) n;
  insert into project_grants (owner, project_grant_id, project_id, granted_organization_id, version, created, changed)
  values ('o2', 'h1', 'p2', '${largest}', 1, now(), now());
  insert into project_grant_roles (owner, project_grant_id, project_id, role_key)
  select '${largest}', 'g' || n, 'p1', 'role0' from generate_series(2, ${organizations}) n;
  insert into invitations (owner, invitation_id, inviter_id, memberships, grants, recipient_id, kind, object_id, expiration_date,
    version, created, changed)
  select 'o' || (2 + n % ${organizations - 1}), 'v' || n, 'u2', '[{"roles":["ORG_VIEWER"]}]', '[]', 'u1', 'member', 'v' || n,
    now() + interval '1 year', 1, now(), now()
  from generate_series(1, ${things}) n;
  insert into invitation_receivers (invitation_id, owner, receiver_id)
  select invitation_id, owner, '${largest}' from invitations where recipient_id = 'u1';
  insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
  select owner, 'x' || user_id, user_id, 'p' || substr(owner, 2), 1, now(), now() from users where user_id like 'u%';
  insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
  select '${largest}', 'y' || n, 'u1', 'q' || n, 1, now(), now() from generate_series(1, ${things}) n;
  insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
  select owner, user_grant_id, project_id,
    case when owner <> '${largest}' then 'role0' when right(user_id, 1) in ('0', '3', '6') then 'role2' else '${commonRole}' end
  from user_grants where user_grant_id like 'x%';
  insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
  select owner, 's' || user_id, user_id, now() + interval '1 year', 1, now(), now() from users where user_id like 'u%0';
  insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
  select '${largest}', 't' || n, 'u1', now() + interval '1 year', 1, now(), now() from generate_series(1, ${things}) n;
  insert into access_tokens (owner, token_id, user_id, version, created, changed)
  select owner, 'v' || user_id, user_id, 1, now(), now() from users where user_id like 'u%5';
  insert into users (owner, user_id, kind, username, name, version, created, changed)
  select '${largest}', 'r' || n, 'machine', 'robot' || n, 'Robot ' || n, 1, now(), now() from generate_series(1, ${things}) n;
  insert into login_names (login_name, owner, user_id) select username, owner, user_id from users where user_id like 'r%';
  insert into machine_credentials (owner, credential_id, user_id, access_token_type, version, created, changed)
  select '${largest}', 'k' || n, 'r' || greatest(n - ${credentialsOfOne} + 1, 1), 'OIDC_TOKEN_TYPE_BEARER', 1, now(), now()
  from generate_series(1, ${things}) n;
  insert into machine_proofs (credential_id, hash, last_used)
  select credential_id, sha256(credential_id::bytea), now() from machine_credentials;
  insert into bearers (hash, owner, user_id, session_id)
  select sha256(session_id::bytea), owner, user_id, session_id from sessions where session_id ~ '^[st]';
  insert into bearers (hash, owner, user_id, token_id)
  select sha256(token_id::bytea), owner, user_id, token_id from access_tokens where token_id like 'v%';
  insert into mail_messages (mail_id, owner, user_id, kind, email, language, expiration_date, created, dead)
  select 'm' || user_id, owner, user_id, 'password_changed', email, 'en', now() + interval '1 day', now(), now() from users where user_id like 'u%';
  insert into events (owner, stream, version, type, payload, actor, request_id, time)
  select case when n::bigint * 104729 % 9973 % 10 between 2 and 5 then '${largest}' else 'o' || n % ${organizations} + 1 end, 'u' || n % ${users} + 1, 1000 + n,
    'user.unlocked', '{}', case n % 3 when 0 then 'u1' when 1 then 'u2' else 'u' || n % ${users} + 1 end, 'r' || n,
    now() - n::bigint * 7919 % ${events} * interval '1 second'
  from generate_series(1, ${events}) n;
  analyze;`;

import { expect, test } from "vitest";
import { delegationRead, linkRead, servesRead } from "../../../src/provider/tokens/delegation_read.ts";
import { applicationsOf } from "../../../src/services/consents/consent.ts";
import { openClient } from "../../fixture/database_client.ts";
import { askedBy, found, planAsTheService } from "../../plans/plan.ts";
import type { PlanServer } from "../plan_server.ts";

// Most organizations have one API, user and grant each; the largest has thousands of APIs in one project, a user and a machine with grants
// in a thousand projects, a machine that got most of all tokens, and a user for whom it acted at each of the APIs.
const filling = `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 2000) n;
  insert into all_projects (owner, project_id, name, version, created, changed)
  select case when n < 1000 then 'o0' else 'o' || n - 999 end, 'p' || n, 'Project ' || n, 1, now(), now() from generate_series(0, 2999) n;
  insert into project_roles (owner, project_id, role_key, display_name) select owner, project_id, 'viewer', 'Viewer' from all_projects where project_id ~ '^p[0-9]+$';
  insert into applications (owner, app_id, project_id, name, client_id, oidc, api, version, created, changed)
  select case when n < 3000 then 'o0' else 'o' || n - 2999 end, 'a' || n, case when n < 3000 then 'p0' else 'p' || n - 2000 end, 'API ' || n,
    'c' || n, '{}', '{"scopes":[]}', 1, now(), now() from generate_series(0, 4999) n;
  insert into resource_uris (href, owner, app_id, uri, given, names)
  select 'https://a' || n || '.example/', case when n < 3000 then 'o0' else 'o' || n - 2999 end, 'a' || n,
    'https://a' || n || '.example/', true, array['a' || n || '.example', 'example'] from generate_series(0, 4999) n;
  insert into users (owner, user_id, kind, username, name, version, created, changed)
  select 'o' || n, 'm' || n, 'machine', 'm' || n, 'Machine', 1, now(), now() from generate_series(0, 2000) n;
  insert into users (owner, user_id, kind, username, given_name, family_name, version, created, changed)
  select 'o' || n, 'u' || n, 'human', 'u' || n, 'Ada', 'Byron', 1, now(), now() from generate_series(0, 2000) n;
  insert into machine_client_ids (client_id, owner, user_id) select 'i' || n, 'o' || n, 'm' || n from generate_series(0, 2000) n;
  insert into machine_credentials (owner, credential_id, user_id, access_token_type, version, created, changed)
  select 'o' || n, 'k' || n, 'm' || n, 'OIDC_TOKEN_TYPE_BEARER', 1, now(), now() from generate_series(0, 2000) n;
  insert into machine_delegations (user_id, owner, served, targets)
  select 'm' || n, 'o' || n, jsonb_build_array(jsonb_build_object('appId', 'a' || a, 'uri', 'https://a' || a || '.example/')),
    jsonb_build_array(jsonb_build_object('appId', 'a' || b, 'uri', 'https://a' || b || '.example/'))
  from (select n, case n when 0 then 1 else n + 2999 end as a, case n when 0 then 2 else n + 2999 end as b from generate_series(0, 2000) n) x;
  insert into user_grants (owner, user_grant_id, user_id, project_id, version, created, changed)
  select 'o0', 'g' || u || n, u || '0', 'p' || n, 1, now(), now() from generate_series(0, 999) n cross join unnest(array['u', 'm']) u;
  insert into user_grant_roles (owner, user_grant_id, project_id, role_key)
  select owner, user_grant_id, project_id, 'viewer' from user_grants;
  insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
  select 's' || n, 'o' || n % 2000, 'u' || n % 2000, sha256(('s' || n)::bytea), now(), '{pwd}', now(), 'epoch' from generate_series(0, 3999) n;
  insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, created, expiration_date)
  select 'n' || n, 's' || n, 'u' || n % 2000, 'a0', 'o' || n % 2000, 'openid', now(), now() + interval '1 day' from generate_series(0, 3999) n;
  insert into sign_on_tokens (hash, sign_on_id, scope, created, expiration_date)
  select sha256(('t' || n)::bytea), 'n' || n, 'openid', now(), now() + interval '1 day' from generate_series(0, 3999) n;
  insert into exchanged_tokens (hash, subject, sign_on_id, user_id, credential_id, acted, served, resource, scope, created, expiration_date)
  select sha256(('e' || n)::bytea), sha256(('t' || n / 100)::bytea), 'n' || n / 100, 'm0', 'k0', case n % 2 when 0 then '{m0,m0}'::text[] else '{}' end,
    '{"appId":"a1","href":"https://a1.example/"}', '{"appId":"a2","href":"https://a2.example/"}', '', now(), now() + interval '1 day'
  from generate_series(0, 9999) n;
  insert into acting_machines (user_id, app_id, machine_id, api_id, first_used, last_used, expiration_date)
  select 'u0', 'a0', 'm0', 'a' || n, now(), now() - n * interval '1 minute', now() + interval '1 day' from generate_series(0, 2999) n;
  insert into acting_machines (user_id, app_id, machine_id, api_id, first_used, last_used, expiration_date)
  select 'u' || n, 'a' || n, 'm' || n, 'a' || n, now(), now(), now() + interval '1 day' from generate_series(1, 2000) n;
  vacuum analyze`;

const mostRows = 100;
const now = new Date();
const served = { appId: "a1", href: "https://a1.example/" };
const wish = {
  sign_on_id: "n0",
  machine_id: "m0",
  acted: ["m0", "m0"],
  served,
  href: "https://a2.example/",
  now: now.toISOString(),
};

/** Declares the test on a server. */
export function delegationPlans(server: () => PlanServer): void {
  test("what a machine may do for a user is read by keys, however much there is beside it", async () => {
    const { url } = await server().fresh();
    await using opened = openClient(url);
    for (const statement of filling.split(";")) await opened.client.unsafe(statement);
    await planAsTheService(opened.client);
    const answers: unknown[] = [];
    const statements = await askedBy(url, async ({ sql }) => {
      answers.push(await delegationRead(sql)(wish));
      const hashes = await sql<{ hash: string }[]>`
        select encode(sha256(e::bytea), 'hex') as hash from unnest(array['e1', 'e2']) e`;
      for (const { hash } of hashes) answers.push(await linkRead(sql)({ hash, now: now.toISOString() }));
      answers.push(await servesRead(sql)({ machine_id: "m0", served: { appId: "a1", uri: "https://a1.example/" } }));
      const page = await applicationsOf(sql, "u0", { after: undefined, limit: 20, now });
      answers.push(page[0]?.actingMachines.length);
      // It signed in to one application, and a machine acted by the tokens of another.
      answers.push((await applicationsOf(sql, "u1", { after: undefined, limit: 20, now })).length);
    });
    expect(answers).toMatchObject([
      { roles: ["viewer"], hasActed: true },
      { roles: ["viewer"] },
      { roles: ["viewer"] },
      {},
      20,
      2,
    ]);
    for (const statement of statements) {
      const { rows, whole } = await found(opened.client, statement);
      expect([whole, rows <= mostRows ? "few" : rows], statement.text).toEqual([[], "few"]);
    }
  }, 300_000);
}

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ListConnectedApplicationsRequestSchema } from "../../../gen/postern/v1/consent_pb.ts";
import type { Deps } from "../../../src/deps.ts";
import {
  allowedDocuments,
  documentClientRead,
  documentIsClient,
} from "../../../src/provider/request/document_client.ts";
import { resourcesNearRead } from "../../../src/provider/request/resource.ts";
import { clientAndCode, clientAndRefresh, tokenRead } from "../../../src/provider/tokens/grant_read.ts";
import { documentCondition, unallowedEnd } from "../../../src/services/applications/document_application.ts";
import { consentService } from "../../../src/services/consents/consent.ts";
import { openClient } from "../../fixture/database_client.ts";
import { askedBy, callIn, found, type PlanReads, planAsTheService } from "../../plans/plan.ts";
import type { PlanServer } from "../plan_server.ts";

// Most projects have one API and one client with a document, the same one everywhere. One has a thousand clients, one client has ten thousand
// users, half of the others one, and one user has allowed ten thousand clients.
const filling = `
  insert into organizations (organization_id, name, version, created, changed)
  select 'o' || n, 'Organization ' || n, 1, now(), now() from generate_series(0, 9999) n;
  insert into all_users (owner, user_id, kind, username, given_name, family_name, version, created, changed)
  select 'o0', 'u' || n, 'human', 'u' || n, 'Ada', 'Byron', 1, now(), now() from generate_series(0, 9999) n;
  insert into all_projects (owner, project_id, name, version, created, changed)
  select 'o' || n, 'p' || n, 'Project', 1, now(), now() from generate_series(0, 9999) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, is_api, api, version, created, changed)
  select 'o' || n, 'api' || n, 'p' || n, 'API', 'c' || n, '{}', true, '{"acceptsClientDocuments": true}', 1, now(), now()
  from generate_series(0, 9999) n;
  insert into resource_uris (href, owner, app_id, uri, given, names)
  select 'https://h' || n || '.example/', 'o' || n, 'api' || n, 'https://h' || n || '.example/', true, array['h' || n || '.example']
  from generate_series(0, 9999) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, is_document, version, created, changed)
  select 'o' || n, 'd' || n, 'p' || n, 'https://c.example/0', 'https://c.example/0', '{}', true, 1, now(), now()
  from generate_series(0, 9999) n;
  insert into applications (owner, app_id, project_id, name, client_id, oidc, is_document, version, created, changed)
  select 'o0', 'many' || n, 'p0', 'https://c.example/' || n, 'https://c.example/' || n, '{}', true, 1, now(), now()
  from generate_series(1, 999) n;
  insert into consents (owner, consent_id, user_id, app_id, scopes, version, created, changed)
  select 'o0', 'a' || n, 'u' || n, 'd0', '{openid}', 1, now(), now() from generate_series(0, 9999) n;
  insert into consents (owner, consent_id, user_id, app_id, scopes, version, created, changed)
  select 'o0', 'b' || n, 'u0', 'd' || n, '{openid}', 1, now(), now() from generate_series(1, 9999) n;
  insert into consents (owner, consent_id, user_id, app_id, scopes, version, created, changed)
  select 'o0', 'e' || n, 'u1', 'many' || n, '{openid}', 1, now(), now() from generate_series(1, 500) n;
  insert into sessions (owner, session_id, user_id, expiration_date, version, created, changed)
  values ('o0', 's', 'u0', '2100-01-01', 1, now(), now());
  insert into browser_sessions (session_id, owner, user_id, hash, auth_time, methods, idle_date, expiration_date)
  values ('s', 'o0', 'u0', sha256('s'), now(), '{pwd}', '2100-01-01', '2100-01-01');
  insert into sign_ons (sign_on_id, session_id, user_id, app_id, organization_id, scope, for_api, resources, refresh_family, created, expiration_date)
  select 'x' || n, 's', 'u0', 'd' || n % 10, 'o0', 'openid', false, '[{"appId": "api0", "href": "https://h0.example/"}]',
    sha256(('family' || n)::bytea), now(), '2100-01-01' from generate_series(0, 9999) n;
  insert into authorization_codes (hash, sign_on_id, redirect_uri, expiration_date)
  select sha256(('code' || n)::bytea), 'x' || n, 'http://127.0.0.1/cb', '2100-01-01' from generate_series(0, 9999) n;
  insert into refresh_tokens (hash, sign_on_id, expiration_date)
  select sha256(('refresh' || n)::bytea), 'x' || n, '2100-01-01' from generate_series(0, 9999) n;
  insert into sign_on_tokens (hash, sign_on_id, scope, resource, created, expiration_date)
  select sha256(('token' || n)::bytea), 'x' || n, 'openid', '{"appId": "api0", "href": "https://h0.example/"}', now(), '2100-01-01'
  from generate_series(0, 9999) n`;

const everywhere = "https://c.example/0";

type Parts = Omit<Deps, "log">;

const clientAt = (n: number, client: number) => (parts: Parts) =>
  documentClientRead(parts.sql)({
    url: `https://c.example/${client}`,
    document: {
      ...{ redirectUris: ["http://127.0.0.1/cb"], postLogoutRedirectUris: [] },
      ...{ dpopBoundAccessTokens: false, requirePushedAuthorizationRequests: false },
    },
    redirectUri: "http://127.0.0.1/cb",
    resource: `https://h${n}.example/`,
    organizationId: undefined,
  });
const apiNear = (app: string, n: number) => (parts: Parts) =>
  resourcesNearRead(parts.sql)(app, [`https://h${n}.example/`]);
const allowedBy = (userId: string, document: string) => (parts: Parts) => allowedDocuments(parts.sql)(userId, document);
const isClientAt = (n: number, document: string) => (parts: Parts) =>
  documentIsClient(parts.sql)(document, `https://h${n}.example/`);
const connectedTo = (userId: string) => (parts: Parts) =>
  consentService({ ...parts, log: noLog }).listConnectedApplications(
    create(ListConnectedApplicationsRequestSchema, { userId, pageSize: 20 }),
    callIn("o0", userId),
  );

const nothing = () => expect.fail("nothing is written");
const noLog = { append: nothing, appendLong: nothing, appendIf: nothing };

/** What is read, and how many rows of tables it may take. */
const reads: readonly (readonly [string, (parts: Parts) => Promise<unknown>, number])[] = [
  ["whether a user allows a client that all have", allowedBy("u5", everywhere), 10],
  ["whether a user of ten thousand allows it", allowedBy("u0", everywhere), 10],
  // Each of a user's own clients is looked at, if none is the one.
  ["whether a user of five hundred allows one that nobody does", allowedBy("u1", "https://nobody.example/"), 2_010],
  ["a client that is in ten thousand projects", clientAt(5_000, 0), 10],
  ["a client of a project with a thousand", clientAt(0, 500), 10],
  ["whether a document is one of a thousand clients of a project", isClientAt(0, "https://c.example/500"), 10],
  ["whether a document is a client that no project has", isClientAt(0, "https://nobody.example/"), 10],
  ["a client that is in no project", clientAt(0, 10_000), 10],
  ["an API, for a client of its project", apiNear("d5000", 5_000), 10],
  ["an API, for a client of another project", apiNear("d0", 5_000), 10],
  ["a client and its code", ({ sql }) => clientAndCode(sql)(everywhere, "code10", new Date()), 20],
  ["a client and its refresh token", ({ sql }) => clientAndRefresh(sql)(everywhere, "refresh10", new Date()), 20],
  ["a client and another's code", ({ sql }) => clientAndCode(sql)("https://c.example/7", "code10", new Date()), 20],
  ["a token of a client", ({ sql }) => tokenRead(sql)("token10", new Date()), 20],
  ["the clients of a user with one", connectedTo("u9999"), 20],
  ["a page of the clients of a user with ten thousand", connectedTo("u0"), 5_000],
];

/** The statement that asks whether a document can be a client of a project. */
const admission = (n: number, client: string) => ({
  text: `with asked as materialized (
    select 0 as n, 'o${n}'::text as owner, 'p${n}'::text as project, 'https://c.example/${client}'::text as document, 'u0'::text as "user")
  ${documentCondition.select}`,
  parameters: [],
});

/** The statement that finds the clients of a project that make room for another one. */
const room = (n: number) => ({
  text: `with input as materialized (
    select 0 as n, jsonb_build_object('projectId', 'p${n}') as payload, now() + interval '1 hour' as time)
  ${unallowedEnd.select.replace("$input", "input")}`,
  parameters: [],
});

/** Declares the test on a server. */
export function documentPlans(server: () => PlanServer): void {
  test("clients with a document cost what is found of them, by plans of an empty database and of a full one", async () => {
    const { url } = await server().fresh();
    await using database = openClient(url);
    const sql = database.client;
    await sql.unsafe(filling);
    await planAsTheService(sql);
    for (const plans of ["of an empty database", "of a full one"]) {
      if (plans === "of a full one") await sql.unsafe("vacuum analyze");
      const costs: unknown[] = [];
      for (const [name, read, most] of reads) {
        const sent = await askedBy(url, read);
        expect(sent.length, name).toBeGreaterThan(0);
        const all: PlanReads[] = [];
        for (const statement of sent) all.push(await found(sql, statement));
        const rows = all.reduce((sum, one) => sum + one.rows, 0);
        costs.push([name, rows, all.flatMap(({ whole }) => whole)]);
        expect.soft(rows, `${plans}, ${name}: ${sent.map(({ text }) => text).join("\n")}`).toBeLessThanOrEqual(most);
      }
      // A full project has a thousand, each of which is looked at to find who allows it; one user has allowed ten thousand elsewhere.
      for (const [name, statement, most] of [
        ["admission", admission(5_000, "new"), 10],
        ["admission to a full project", admission(0, "new"), 3_010],
        ["room", room(5_000), 10],
        ["room in a full project", room(0), 3_010],
      ] as const) {
        const { rows, whole } = await found(sql, statement);
        costs.push([name, rows, whole]);
        expect.soft(rows, `${plans}, ${name}`).toBeLessThanOrEqual(most);
        expect(whole).toEqual([]);
      }
      if (process.env.SHOW_COSTS) console.log(plans, JSON.stringify(costs));
    }
  }, 300_000);
}

import { join } from "node:path";
import { createContextValues } from "@connectrpc/connect";
import type { HttpRoute } from "@postern/gateway";
import { afterAll, beforeAll, expect, test } from "vitest";
import { keys, newId } from "../../src/deps.ts";
import { providerChores } from "../../src/provider/chores.ts";
import { providerRoutes } from "../../src/provider/provider.ts";
import { registeredOrigins } from "../../src/provider/request/cross_origin.ts";
import { documentClientRead } from "../../src/provider/request/document_client.ts";
import { clientAndCode, clientAndRefresh, clientAndToken } from "../../src/provider/tokens/grant_read.ts";
import { signingKeys } from "../../src/provider/tokens/signing_keys.ts";
import { passwordResetsOf } from "../../src/services/passwords/password_reset.ts";
import { signInsOf } from "../../src/services/sessions/sign_in.ts";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { root } from "../rules/tree.ts";
import { type Handlers, openHandlers } from "../sent_statements.ts";
import { application, authorizeUrl, basic, codeFor, exchange, verifier } from "./application.ts";
import { hiddenIn } from "./browser.ts";
import { accessTokenType, delegation, grantOfExchange, userTokens } from "./delegation.ts";
import { dpopKey, proofOf } from "./dpop.ts";
import { grantedMachine } from "./machine.ts";

const issuer = "https://id.example";
let postern: Postern;
let handlers: Handlers;
let routes: readonly HttpRoute[];
beforeAll(async () => {
  postern = await startPostern({ publicUrl: issuer });
  handlers = openHandlers(postern, { cacheSeconds: 3_600 });
  const { deps } = handlers;
  const signing = signingKeys({ ...deps, instanceId: "instance" });
  const { requests } = providerRoutes({
    ...{ deps, settings: postern.config, keys: signing, issuer: () => issuer },
    isRegistered: registeredOrigins(deps.sql),
    signIns: signInsOf(deps, postern.config),
    resets: passwordResetsOf(deps, postern.config),
  });
  routes = requests;
  // The keys are read once in half a minute.
  await signing.published();
});
afterAll(async () => {
  await handlers?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

type Request = {
  readonly query?: string;
  readonly form?: Record<string, string>;
  readonly headers?: Record<string, string>;
};

/** Sends a request to a route, and answers the response with the statements that it took. */
async function sent(path: string, { query = "", form, headers = {} }: Request) {
  const route = routes.find((one) => one.path === path) ?? expect.unreachable();
  handlers.heard();
  const values = createContextValues().set(keys.requestId, newId());
  const {
    status,
    headers: fields,
    body = "",
  } = await route.handle({
    ...{ method: form ? "POST" : "GET", path, query, network: undefined },
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: Buffer.from(new URLSearchParams(form).toString()),
    values,
    signal: new AbortController().signal,
  });
  expect(values.get(keys.failure)?.cause).toBeUndefined();
  const cookies = [fields["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0] ?? "");
  const location = new URL(String(fields.location ?? issuer), issuer);
  return { status, text: Buffer.from(body).toString(), cookies, location, statements: handlers.heard() };
}

/** Compares a file with the statements of a step. */
async function show(name: string, ...steps: readonly (readonly string[])[]): Promise<void> {
  const text = steps
    .map((step) => step.map((one) => `${one.trim()};`).join("\n\n"))
    .join("\n\n-- the next request\n\n");
  await expect(`${text}\n`).toMatchFileSnapshot(join(root, "test/provider/statements", `${name}.sql`));
}

test("a sign-in with a password takes twelve statements, one with a session three, a code two and userinfo one", async () => {
  const [app, person] = [
    await application(postern.admin, {
      grantTypes: ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"],
    }),
    await signedUp(postern),
  ];
  const { search } = new URL(authorizeUrl(issuer, app, { scope: "openid offline_access" }));
  const page = await sent("/oauth/authorize", { query: search.slice(1) });
  const form = { ...hiddenIn(page.text), login_name: person.username, password: person.password, action: "password" };
  const signedIn = await sent("/sign-in", { form, headers: { cookie: page.cookies.join("; ") } });
  expect(page.statements.length + signedIn.statements.length).toBe(12);
  await show("password", page.statements, signedIn.statements);

  const again = await sent("/oauth/authorize", {
    query: search.slice(1),
    headers: { cookie: signedIn.cookies.join("; ") },
  });
  expect([again.status, again.statements.length]).toEqual([303, 3]);
  await show("session", again.statements);

  const named = await sent("/oauth/authorize", { query: `${search.slice(1)}&resource=https://api.example/` });
  expect(named.statements.length).toBe(2);
  await show("resource", named.statements);

  const code = again.location.searchParams.get("code") ?? "";
  const asks = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, code_verifier: verifier };
  const tokens = await sent("/oauth/token", { form: asks, headers: basic(app) });
  expect([tokens.status, tokens.statements.length]).toEqual([200, 2]);
  await show("code", tokens.statements);

  const { access_token, refresh_token } = JSON.parse(tokens.text);
  const userinfo = await sent("/oauth/userinfo", { headers: { authorization: `Bearer ${access_token}` } });
  expect([userinfo.status, userinfo.statements.length]).toEqual([200, 1]);
  await show("userinfo", userinfo.statements);

  const introspected = await sent("/oauth/introspect", { form: { token: access_token }, headers: basic(app) });
  expect([introspected.status, introspected.statements.length]).toEqual([200, 1]);
  await show("introspection", introspected.statements);

  const refreshed = await sent("/oauth/token", {
    form: { grant_type: "refresh_token", refresh_token },
    headers: basic(app),
  });
  expect([refreshed.status, refreshed.statements.length]).toEqual([200, 2]);
  await show("refresh", refreshed.statements);

  // Claims of metadata take one more; those of roles none.
  const { access_token: token } = JSON.parse(refreshed.text);
  const userinfoWith = async (source: object) => {
    const declaredClaims = [{ name: "claim", ...source, places: ["CLAIM_PLACE_USERINFO"] }];
    const changed = `/v1/projects/${app.projectId}/applications/${app.appId}/oidc`;
    expect((await postern.admin.call("PATCH", changed, { declaredClaims })).status).toBe(200);
    return sent("/oauth/userinfo", { headers: { authorization: `Bearer ${token}` } });
  };
  expect((await userinfoWith({ roles: {} })).statements.length).toBe(1);
  const declared = await userinfoWith({ userMetadata: "department" });
  expect([declared.status, declared.statements.length]).toEqual([200, 2]);
  await show("declared_claims", declared.statements.slice(1));

  const hint = JSON.parse(tokens.text).id_token;
  const ended = await sent("/oauth/end-session", {
    query: new URLSearchParams({ id_token_hint: hint }).toString(),
    headers: { cookie: signedIn.cookies.join("; ") },
  });
  expect([ended.status, ended.statements.length]).toEqual([200, 3]);
  await show("end_session", ended.statements);
});

test("a revocation takes three statements", async () => {
  const [app, person] = [await application(postern.admin), await signedUp(postern)];
  const { code } = await codeFor(postern.url, app, person);
  const { body } = await exchange(postern.url, app, code);
  const { access_token } = body;
  const revoked = await sent("/oauth/revoke", { form: { token: access_token }, headers: basic(app) });
  expect([revoked.status, revoked.statements.length]).toEqual([200, 3]);
  await show("revocation", revoked.statements);
});

test("a device takes two statements to begin, its code four, and each of its questions two", async () => {
  const grantTypes = ["OIDC_GRANT_TYPE_DEVICE_CODE"];
  const [app, person] = [await application(postern.admin, { grantTypes, redirectUris: [] }), await signedUp(postern)];
  const begun = await sent("/oauth/device", { form: { scope: "openid" }, headers: basic(app) });
  expect([begun.status, begun.statements.length]).toEqual([200, 2]);
  await show("device", begun.statements);

  const { device_code, user_code } = JSON.parse(begun.text);
  const asks = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code };
  const pending = await sent("/oauth/token", { form: asks, headers: basic(app) });
  expect([pending.status, pending.statements.length]).toEqual([400, 2]);
  await show("device_pending", pending.statements);

  const page = await sent("/device", {});
  const cookie = page.cookies.join("; ");
  const entered = await sent("/device", { form: { ...hiddenIn(page.text), user_code }, headers: { cookie } });
  expect([entered.status, page.statements.length, entered.statements.length]).toEqual([200, 1, 4]);
  await show("device_code", entered.statements);

  const form = { ...hiddenIn(entered.text), login_name: person.username, password: person.password };
  const signedIn = await sent("/sign-in", { form: { ...form, action: "password" }, headers: { cookie } });
  const cookies = [cookie, ...signedIn.cookies].join("; ").replace(/^[^;]*; /, "");
  const confirmed = await sent("/sign-in", {
    form: { ...hiddenIn(signedIn.text), action: "continue" },
    headers: { cookie: cookies },
  });
  expect(confirmed.status).toBe(200);
  await show("device_approval", confirmed.statements);

  const tokens = await sent("/oauth/token", { form: asks, headers: basic(app) });
  expect([tokens.status, tokens.statements.length]).toEqual([200, 2]);
  await show("device_tokens", tokens.statements);
});

test("a machine takes three statements for a token, then one, and one more for a proof of its key", async () => {
  const { scope, ...machine } = await grantedMachine(postern);
  const form = { grant_type: "client_credentials", scope };
  const token = await sent("/oauth/token", { form, headers: basic(machine) });
  expect([token.status, token.statements.length]).toEqual([200, 3]);
  await show("machine", token.statements);

  // A wrong secret could be a new one: the machine is read again, and by now the use of its secret is noted.
  const wrong = await sent("/oauth/token", { form, headers: basic({ ...machine, clientSecret: "wrong" }) });
  expect([wrong.status, wrong.statements]).toEqual([401, token.statements.slice(0, 1)]);
  await show("machine_again", await untrimmed({ form, headers: basic(machine) }));

  const dpop = await proofOf(await dpopKey(), ["POST", `${issuer}/oauth/token`]);
  const bound = await sent("/oauth/token", { form, headers: { ...basic(machine), dpop } });
  expect([bound.status, bound.statements.length]).toEqual([200, 2]);
  await show("dpop", bound.statements.slice(0, 1));
});

/** The statements of a token that ends no others, as one in 64 does. */
async function untrimmed(request: Request): Promise<readonly string[]> {
  const { status, statements } = await sent("/oauth/token", request);
  expect([status, statements.length]).toEqual([200, 1]);
  return statements.join().includes("surplus") ? untrimmed(request) : statements;
}

test("a token on behalf of a user takes six statements, and the first of a machine one more for its event", async () => {
  const { machine, target, ...all } = await delegation(postern);
  const { access_token: subject_token } = await userTokens({ machine, target, ...all, issuer: postern.url });
  const form = {
    grant_type: grantOfExchange,
    subject_token,
    subject_token_type: accessTokenType,
    resource: target.uri,
  };
  const first = await sent("/oauth/token", { form, headers: basic(machine) });
  expect([first.status, first.statements.length]).toEqual([200, 7]);
  expect(first.statements.join()).toContain("insert into events");
  const token = await sent("/oauth/token", { form, headers: basic(machine) });
  expect([token.status, token.statements.length]).toEqual([200, 6]);
  await show("exchange", token.statements);
});

test("a pushed request takes three statements, and as many where it is opened", async () => {
  const app = await application(postern.admin);
  const form = Object.fromEntries(new URL(authorizeUrl(issuer, app, { scope: "openid" })).searchParams);
  const pushed = await sent("/oauth/par", { form, headers: basic(app) });
  expect([pushed.status, pushed.statements.length]).toEqual([201, 3]);
  const { request_uri } = JSON.parse(pushed.text);
  const query = new URLSearchParams({ client_id: app.clientId, request_uri }).toString();
  const opened = await sent("/oauth/authorize", { query });
  expect([opened.status, opened.statements.length]).toEqual([200, 3]);
  await show("pushed_request", pushed.statements, opened.statements);
});

const emptyDocument = {
  ...{ redirectUris: [], postLogoutRedirectUris: [] },
  ...{ dpopBoundAccessTokens: false, requirePushedAuthorizationRequests: false },
};

test("a client that brings its own document, and what it presents, are found by the statements of their file", async () => {
  const { sql, clock } = handlers.deps;
  const url = "https://app.example/client.json";
  handlers.heard();
  const named = { redirectUri: "https://app.example/cb", resource: "https://api.example/", organizationId: undefined };
  expect(await documentClientRead(sql)({ url, document: emptyDocument, ...named })).toBe(undefined);
  for (const presented of [clientAndCode, clientAndRefresh, clientAndToken])
    expect(await presented(sql)(url, "none", clock())).toBe(undefined);
  await show("client_document", handlers.heard());
});

test("expired things are cleared away by the statements of their file", async () => {
  const { deps } = handlers;
  handlers.heard();
  const signing = signingKeys({ ...deps, instanceId: "instance" });
  for (const { batch } of providerChores(deps, signing)) await batch(10);
  await show("expiry", handlers.heard());
});

import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Span_SpanKind as Kind } from "../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { readConfig } from "../../src/config/config.ts";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { eventually, type Node, readyStatus, startNode } from "../first_start.ts";
import { clientOf, type Postern, signedUp } from "../harness.ts";
import { openProbe } from "../probe.ts";
import { attributesOf, hex, startCollector } from "../tracing/collector.ts";
import { freePort } from "../wire/free_port.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn as signInThere,
} from "./application.ts";
import { openBrowser } from "./browser.ts";

type Line = Readonly<Record<string, unknown>> & { readonly msg: string; readonly requestId?: string };

const opened = new AsyncDisposableStack();
let collector: Awaited<ReturnType<typeof startCollector>>;
let node: Node;
let postern: Postern;
let issuer: string;
let app: Application;
let person: Person;

beforeAll(async () => {
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-lines-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  collector = opened.use(await startCollector());
  const adminToken = newToken("pt");
  const env = { LOG_LEVEL: "trace", OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  node = opened.use(await startNode({ databaseUrl, dataDir, port: await freePort(), adminToken, env }));
  await eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");
  const as = (token?: string) => clientOf(node.url, token);
  const me = (await as(adminToken).get("/v1/users/me")).body;
  postern = {
    ...{ url: node.url, operationsUrl: undefined, databaseUrl, config: readConfig({}), admin: as(adminToken), as },
    ...{ adminId: me.user.id, organizationId: me.organization.id, [Symbol.asyncDispose]: async () => {} },
  };
  issuer = issuerOf(postern);
  app = await application(postern.admin);
  person = await signedUp(postern);
}, 120_000);
afterAll(() => opened.disposeAsync());

const lines = (): Line[] =>
  node
    .output()
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line));

const idOf = ({ headers }: { readonly headers: Headers }): string => headers.get("x-request-id") ?? "";

/** The lines of a request, as soon as there is one. */
function linesOf(answer: { readonly headers: Headers }): Promise<Line[]> {
  return eventually(() => {
    const found = lines().filter(({ requestId }) => requestId === idOf(answer));
    return found.length > 0 ? found : undefined;
  }, "the line of a request");
}

const line = (more: object) => ({
  ...{ level: 30, time: expect.any(Number), durationMs: expect.any(Number) },
  ...{ requestId: expect.stringMatching(/^[\da-z]{24}$/), msg: "request" },
  ...more,
});

test("every request of a sign-in has one line, with its client once that is proven", async () => {
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, app));
  const { clientId } = app;
  expect(await linesOf(page)).toEqual([line({ endpoint: "/oauth/authorize", method: "GET", status: 200, clientId })]);

  const wrong = await browser.submit(page, { login_name: person.username, password: "Wrong-Kettle-41" });
  const signIn = { endpoint: "/sign-in", method: "POST", clientId };
  expect(await linesOf(wrong)).toEqual([line({ ...signIn, status: 401, reason: "SIGN_IN_FAILED" })]);
  const right = await browser.submit(wrong, { login_name: person.username, password: person.password });
  expect(await linesOf(right)).toEqual([line({ ...signIn, status: 200 })]);

  const { code = "" } = answerIn(right);
  const tokens = await exchange(issuer, app, code);
  const token = { endpoint: "/oauth/token", method: "POST" };
  expect(await linesOf(tokens)).toEqual([line({ ...token, status: 200, clientId })]);
  const again = await exchange(issuer, app, code);
  expect(await linesOf(again)).toEqual([line({ ...token, status: 400, reason: "invalid_grant", clientId })]);
  const unproven = await exchange(issuer, { ...app, clientSecret: "wrong" }, code);
  expect(await linesOf(unproven)).toEqual([line({ ...token, status: 401, reason: "invalid_client" })]);

  const text = node.output() + (await scrape());
  const secrets = [code, tokens.body.access_token, tokens.body.id_token, app.clientSecret, person.password];
  const others = ["Wrong-Kettle-41", person.username, "code_challenge", "st%26te", ...browser.cookies.values()];
  expect([...secrets, ...others].filter((secret) => secret.length < 5 || text.includes(secret))).toEqual([]);
});

test("an error that goes back to the application, or stays on a page, is named in the line", async () => {
  const browser = openBrowser(issuer);
  const { clientId } = app;
  const back = await browser.open(authorizeUrl(issuer, app, { prompt: "none" }));
  const authorize = { endpoint: "/oauth/authorize", method: "GET" };
  expect(await linesOf(back)).toEqual([line({ ...authorize, status: 303, reason: "login_required", clientId })]);
  const unknown = await browser.open(authorizeUrl(issuer, { ...app, clientId: "nobody@nowhere" }));
  expect(await linesOf(unknown)).toEqual([line({ ...authorize, status: 400, reason: "client_unknown" })]);
  const signOut = await browser.open(`${issuer}/oauth/end-session?post_logout_redirect_uri=x&client_id=${clientId}`);
  const endSession = { endpoint: "/oauth/end-session", method: "GET" };
  expect(await linesOf(signOut)).toEqual([line({ ...endSession, status: 400, reason: "logout_uri_unknown" })]);
  expect((await scrape()) + node.output()).not.toContain("nowhere");
});

test("a request for a page of the account has a line, which names what its form was refused for", async () => {
  const browser = openBrowser(issuer);
  const clientId = "account pages";
  const page = await signInThere(browser, `${issuer}/account/factors`, person);
  expect(await linesOf(page)).toEqual([line({ endpoint: "/account/factors", method: "GET", status: 200 })]);
  const anonymous = await openBrowser(issuer).open(`${issuer}/account/factors/add`);
  expect(await linesOf(anonymous)).toEqual([
    line({ endpoint: "/account/factors/add", method: "GET", status: 200, clientId }),
  ]);
  const forged = await browser.send(`${issuer}/account`, {
    method: "POST",
    body: new URLSearchParams({ action: "x" }),
  });
  const refused = { endpoint: "/account", method: "POST", status: 403, reason: "expired" };
  expect(await linesOf(forged)).toEqual([line(refused)]);
});

test("a client that authenticates by another method than registered is told so, and the log says by which", async () => {
  const { clientId, clientSecret } = app;
  const byPost = { client_id: clientId, client_secret: clientSecret };
  const begin = `${clientId} is registered for BASIC (client_secret_basic), and used`;
  for (const [path, form, used] of [
    ["/oauth/token", { ...byPost, grant_type: "authorization_code", code: "oc_x" }, "POST (client_secret_post)"],
    ["/oauth/introspect", { ...byPost, token: "x" }, "POST (client_secret_post)"],
    ["/oauth/revoke", { client_id: clientId, token: "x" }, "NONE (none)"],
  ] as const) {
    const answer = await post(issuer, path, form);
    expect(answer.body).toMatchObject({
      error: "invalid_client",
      error_description: expect.not.stringContaining("BASIC"),
    });
    const error = { type: "Error", message: `${begin} ${used}` };
    const refused = { endpoint: path, method: "POST", status: 401, reason: "invalid_client", error };
    expect(await linesOf(answer)).toEqual([line(refused)]);
  }
  const posting = await application(postern.admin, { authMethodType: "OIDC_AUTH_METHOD_TYPE_POST" });
  const byHeader = await post(issuer, "/oauth/introspect", { token: "x" }, basic(posting));
  const toPosting = expect.stringContaining("for POST (client_secret_post), and used BASIC");
  expect(await linesOf(byHeader)).toMatchObject([{ error: { message: toPosting } }]);
});

test("the endpoints for tokens name the error that they answer", async () => {
  const { clientId } = app;
  const asked = (endpoint: string) => ({ endpoint, method: "POST" });
  const introspected = await post(issuer, "/oauth/introspect", { token: "none" }, basic(app));
  expect(await linesOf(introspected)).toEqual([line({ ...asked("/oauth/introspect"), status: 200, clientId })]);
  const revoked = await post(issuer, "/oauth/revoke", {}, basic(app));
  expect(await linesOf(revoked)).toEqual([line({ ...asked("/oauth/revoke"), status: 400, reason: "invalid_request" })]);
  const device = await post(issuer, "/oauth/device", {}, basic(app));
  const refused = { status: 400, reason: "unauthorized_client", clientId };
  expect(await linesOf(device)).toEqual([line({ ...asked("/oauth/device"), ...refused })]);
  const userinfo = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: "Bearer oa_none" } });
  const unknown = { status: 401, reason: "invalid_token" };
  expect(await linesOf(userinfo)).toEqual([line({ endpoint: "/oauth/userinfo", method: "GET", ...unknown })]);
});

test("a request that is refused before its endpoint has one line too, and files and preflights have none", async () => {
  const method = await fetch(`${issuer}/oauth/token`);
  const notAllowed = { method: "GET", status: 405, reason: "METHOD_NOT_ALLOWED" };
  expect(await linesOf(method)).toEqual([line({ endpoint: "/oauth/token", ...notAllowed })]);
  const long = await fetch(`${issuer}/oauth/token`, { method: "POST", body: "x".repeat(30_000) });
  const tooLarge = { method: "POST", status: 413, reason: "BODY_TOO_LARGE" };
  expect(await linesOf(long)).toEqual([line({ endpoint: "/oauth/token", ...tooLarge })]);
  const preflight = await fetch(`${issuer}/oauth/token`, { method: "OPTIONS" });
  const keys = await fetch(`${issuer}/oauth/keys`);
  const after = await fetch(`${issuer}/oauth/userinfo`);
  await linesOf(after);
  const quiet = [idOf(preflight), idOf(keys)];
  expect(quiet).not.toContain("");
  expect(lines().filter(({ requestId = "" }) => quiet.includes(requestId))).toEqual([]);
});

test("an error of ours has its cause in the one line of the request", async () => {
  await using probe = openProbe(postern.databaseUrl);
  await probe.sql`alter table sign_on_tokens rename to sign_on_tokens_away`;
  const userinfo = await fetch(`${issuer}/oauth/userinfo`, { headers: { authorization: "Bearer oa_none" } });
  await probe.sql`alter table sign_on_tokens_away rename to sign_on_tokens`;
  const error = { type: "PostgresError", code: "42P01", message: expect.any(String), stack: expect.any(String) };
  const failed = { level: 50, status: 500, reason: "server_error", error };
  expect(await linesOf(userinfo)).toEqual([line({ endpoint: "/oauth/userinfo", method: "GET", ...failed })]);
});

test("requests are counted by endpoint, status and reason, and no label is the choice of a client", async () => {
  const before = await scrape();
  const counted = (text: string, labels: string) =>
    Number(new RegExp(`^postern_sign_in_requests_total\\{${labels}\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  const unknown = 'endpoint="/oauth/authorize",status="400",reason="client_unknown"';
  const missing = 'endpoint="/oauth/userinfo",status="401",reason="invalid_token"';
  const ids = Array.from({ length: 5 }, () => randomBytes(6).toString("hex"));
  for (const clientId of ids) await fetch(authorizeUrl(issuer, { ...app, clientId }));
  await fetch(`${issuer}/oauth/userinfo?access_token=${ids[0]}`);
  await fetch(`${issuer}/oauth/keys`);
  await fetch(`${issuer}/oauth/token`);
  const text = await scrape();
  expect(counted(text, unknown) - counted(before, unknown)).toBe(5);
  expect(counted(text, missing) - counted(before, missing)).toBe(1);
  expect(counted(text, 'endpoint="/oauth/keys",status="200",reason=""')).toBeGreaterThan(0);
  expect(text).toContain('postern_sign_in_request_duration_seconds_bucket{endpoint="/oauth/authorize",le="+Inf"} ');
  expect(text).toContain("postern_sign_in_requests_in_flight 0\n");
  const calls = /^postern_calls_total\{operation="unknown".*$/gm;
  expect(text.match(calls)).toEqual(before.match(calls));
  expect(ids.filter((id) => text.includes(id))).toEqual([]);
});

test("a request is a span, which continues the trace of its caller and has its statements", async () => {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  const headers = { authorization: "Bearer oa_none", traceparent: `00-${traceId}-${spanId}-01` };
  const userinfo = await fetch(`${issuer}/oauth/userinfo`, { headers });
  const spans = await eventually(() => {
    const found = collector.spans.filter((span) => hex(span.traceId) === traceId);
    return found.some(({ kind }) => kind === Kind.SERVER) ? found : undefined;
  }, "the span of a request");
  const request = spans.find(({ kind }) => kind === Kind.SERVER) ?? expect.unreachable();
  expect([request.name, hex(request.parentSpanId)]).toEqual(["GET /oauth/userinfo", spanId]);
  expect(attributesOf(request)).toEqual({
    "http.request.method": "GET",
    "http.route": "/oauth/userinfo",
    "http.response.status_code": 401n,
    "postern.reason": "invalid_token",
    "postern.request_id": idOf(userinfo),
  });
  const statements = spans.filter(({ kind }) => kind === Kind.CLIENT);
  expect(statements.map(({ parentSpanId }) => hex(parentSpanId))).toEqual([hex(request.spanId)]);
});

const scrape = async (): Promise<string> => (await fetch(`${node.url}/metrics`)).text();

import { afterAll, beforeAll, expect, test } from "vitest";
import { mayReadRefusal, registeredOrigins } from "../../../src/provider/request/cross_origin.ts";
import { openClient } from "../../fixture/database_client.ts";
import { type Postern, sharedPostern, signedUp, startPostern } from "../../harness.ts";
import { ask } from "../../postgres/embedded/holder.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  issuerOf,
  post,
  signIn,
} from "../application.ts";
import { openBrowser } from "../browser.ts";

const own = "https://console.example";
const others = "https://shop.example";
let postern: Postern;
let issuer: string;
let app: Application;
let token: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin, { firstParty: true, additionalOrigins: [own] });
  await application(postern.admin, { additionalOrigins: [others] });
  token = await newToken();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

async function newToken(): Promise<string> {
  const url = authorizeUrl(issuer, app, { scope: "openid", resource: issuer });
  const { code = "" } = answerIn(await signIn(openBrowser(issuer), url, await signedUp(postern)));
  return (await exchange(issuer, app, code)).body.access_token;
}

const getMe = "/postern.v1.AccountService/GetMe";
const doors: readonly (readonly [door: string, path: string, init: RequestInit])[] = [
  ["REST", "/v1/users/me", {}],
  ["Connect", getMe, { method: "POST", body: "{}", headers: { "content-type": "application/json" } }],
  ["gRPC-Web", getMe, posted("application/grpc-web+proto")],
  ["a stream of Connect", "/postern.v1.EventService/WatchEvents", posted("application/connect+json")],
];

function posted(type: string): RequestInit {
  const body = type.endsWith("json") ? [0, 0, 0, 0, 2, 123, 125] : [0, 0, 0, 0, 0];
  return { method: "POST", body: Uint8Array.from(body), headers: { "content-type": type } };
}

const asked = (path: string, origin: string, { headers, ...init }: RequestInit = {}, bearer = token) =>
  fetch(issuer + path, { ...init, headers: { ...headers, origin, authorization: `Bearer ${bearer}` } });

const preflight = (path: string, origin: string) =>
  fetch(issuer + path, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
  });

const allowedIn = ({ headers }: Response) => headers.get("access-control-allow-origin");

test.each(doors)(
  "%s: a page of any application may ask, and reads what its own token is answered",
  async (_, path, init) => {
    for (const origin of [own, others, "https://app.example"]) {
      const answer = await preflight(path, origin);
      expect([origin, answer.status, allowedIn(answer)]).toEqual([origin, 204, origin]);
      expect(answer.headers.get("access-control-allow-credentials")).toBe(null);
      expect(answer.headers.get("access-control-allow-headers")).toBe("authorization");
    }
    const allowed = async (origin: string, bearer = token) => {
      const answer = await asked(path, origin, init, bearer);
      await answer.body?.cancel();
      expect(answer.headers.get("access-control-allow-credentials")).toBe(null);
      expect(answer.headers.get("vary")).toContain("origin");
      return allowedIn(answer);
    };
    expect([await allowed(own), await allowed("https://app.example")]).toEqual([own, "https://app.example"]);
    expect([await allowed(others), await allowed("https://evil.example")]).toEqual([null, null]);
    expect(await allowed(own, postern.config.adminToken)).toBe(null);
  },
);

test("a page of an origin that no application has is told nothing", async () => {
  for (const path of ["/v1/users/me", getMe]) {
    const answer = await preflight(path, "https://evil.example");
    expect([answer.status, allowedIn(answer)]).toEqual([405, null]);
  }
});

test("an origin that the application loses is not allowed any more", async () => {
  expect(allowedIn(await asked("/v1/users/me", own))).toBe(own);
  const path = `/v1/projects/${app.projectId}/applications/${app.appId}/oidc`;
  expect((await postern.admin.call("PATCH", path, { additionalOrigins: [] })).status).toBe(200);
  expect(allowedIn(await asked("/v1/users/me", own))).toBe(null);
  expect((await postern.admin.call("PATCH", path, { additionalOrigins: [own] })).status).toBe(200);
  expect(allowedIn(await asked("/v1/users/me", own))).toBe(own);
});

test("CORS_ORIGINS counts beside the origins of applications", async () => {
  await using listing = await startPostern({ corsOrigins: ["https://listed.example"] });
  const allowed = async (origin: string) => {
    const answer = await fetch(`${listing.url}/v1/users/me`, {
      headers: { origin, authorization: `Bearer ${listing.config.adminToken}` },
    });
    return allowedIn(answer);
  };
  expect([await allowed("https://listed.example"), await allowed(own)]).toEqual(["https://listed.example", null]);
});

test("discovery, keys and the description of our API are for every origin", async () => {
  const paths = ["/.well-known/openid-configuration", "/oauth/keys", "/.well-known/oauth-protected-resource"];
  for (const path of paths) expect(allowedIn(await asked(path, "https://any.example"))).toBe("*");
});

const evil = "https://evil.example";
const formType = { "content-type": "application/x-www-form-urlencoded" };

/** Sends a request as a page does; answers what its browser lets it read of the response. */
async function read(url: string, origin: string, init: RequestInit = {}) {
  const response = await fetch(url, { ...init, headers: { ...init.headers, origin } });
  const text = await response.text();
  expect(response.headers.get("vary")).toContain("origin");
  expect(response.headers.get("access-control-allow-credentials")).toBe(null);
  if (allowedIn(response) === null) return "nothing";
  expect(allowedIn(response)).toBe(origin);
  const exposed = response.headers.get("access-control-expose-headers") ?? "";
  for (const name of ["www-authenticate", "retry-after"]) expect(exposed).toContain(name);
  return { status: response.status, text };
}

const withToken = (bearer: string) => ({ headers: { authorization: `Bearer ${bearer}` } });
const withForm = (form: Record<string, string>, headers: Record<string, string> = {}) => ({
  ...{ method: "POST", body: new URLSearchParams(form), headers },
});

test("userinfo: a page reads that its token is expired, revoked, of nobody or no token at all", async () => {
  const userinfo = `${issuer}/oauth/userinfo`;
  const plain = await application(postern.admin, { additionalOrigins: [own] });
  const newToken = async () => {
    const { code } = await codeFor(issuer, plain, await signedUp(postern));
    return (await exchange(issuer, plain, code)).body.access_token as string;
  };
  const revoked = await newToken();
  expect((await post(issuer, "/oauth/revoke", { token: revoked }, basic(plain))).status).toBe(200);
  const expired = await newToken();
  const ofPlain = `(select sign_on_id from sign_ons where app_id = '${plain.appId}')`;
  const past = "set expiration_date = now() - interval '1 minute'";
  await ask(postern.databaseUrl, `update sign_on_tokens ${past} where sign_on_id in ${ofPlain}`);
  const good = await newToken();
  const wrong = [expired, revoked, "oa_unknown", "ey.JhbGci.Oi", "%", "x".repeat(9_000)].map(withToken);
  const headers = { authorization: `Bearer ${good}`, ...formType };
  const twice = { method: "POST", body: `access_token=${good}`, headers };
  for (const init of [...wrong, { headers: { authorization: "Basic x" } }, {}, twice]) {
    const status = init === twice ? 400 : 401;
    const error = expect.stringContaining(init === twice ? "invalid_request" : "invalid_token");
    for (const origin of [own, others]) expect(await read(userinfo, origin, init)).toEqual({ status, text: error });
    expect(await read(userinfo, evil, init)).toBe("nothing");
  }
  expect(await read(userinfo, own, withToken(good))).toMatchObject({ status: 200 });
  expect(await read(userinfo, others, withToken(good))).toBe("nothing");
});

test.each(["token", "revoke", "introspect", "device"])(
  "%s: a page reads why its request is refused, another one only where no client is known",
  async (name) => {
    const url = `${issuer}/oauth/${name}`;
    const form = { grant_type: "authorization_code", code: "oc_unknown", token: "oa_unknown" };
    const wrongSecret = basic({ ...app, clientSecret: "wrong" });
    for (const origin of [own, others]) {
      const unknown = await read(url, origin, withForm({ ...form, client_id: "unknown" }));
      expect(unknown).toEqual({ status: 401, text: expect.stringContaining("invalid_client") });
      const untyped = await read(url, origin, { method: "POST", body: "{}" });
      expect(untyped).toEqual({ status: 400, text: expect.stringContaining("invalid_request") });
    }
    expect(await read(url, own, withForm(form, wrongSecret))).toMatchObject({ status: 401 });
    expect(await read(url, others, withForm(form, wrongSecret))).toBe("nothing");
    expect(await read(url, evil, withForm({ ...form, client_id: "unknown" }))).toBe("nothing");
  },
);

test.each(["token", "revoke", "introspect", "device", "userinfo"])(
  "%s: a page reads that its method is wrong, and its body too large",
  async (name) => {
    const url = `${issuer}/oauth/${name}`;
    const large = { method: "POST", body: `a=${"x".repeat(30_000)}`, headers: formType };
    for (const origin of [own, others]) {
      expect(await read(url, origin, { method: "PUT" })).toMatchObject({ status: 405 });
      expect(await read(url, origin, large)).toMatchObject({ status: 413 });
    }
    expect([await read(url, evil, { method: "PUT" }), await read(url, evil, large)]).toEqual(["nothing", "nothing"]);
  },
);

test.each(doors)("%s: a page reads why its call is refused where no caller is known", async (_, path, init) => {
  const { method } = { method: "GET", ...init };
  for (const bearer of ["oa_unknown", "%", ""]) {
    const wrong = { ...init, headers: { ...init.headers, authorization: `Bearer ${bearer}` } };
    for (const origin of [own, others]) expect(await read(issuer + path, origin, wrong)).not.toBe("nothing");
    expect(await read(issuer + path, evil, wrong)).toBe("nothing");
  }
  const to = { method: "PATCH", body: "{}", headers: init.headers ?? {} };
  for (const [at, sent] of [
    ["/nowhere", { ...init, method }],
    [path, to],
  ] as const) {
    for (const origin of [own, others]) expect(await read(issuer + at, origin, sent)).not.toBe("nothing");
    expect(await read(issuer + at, evil, sent)).toBe("nothing");
  }
});

test("a refusal does not wait for a database that is away, and is read by nobody then", async () => {
  expect(await mayReadRefusal(() => new Promise(() => {}), own)).toBe(false);
  expect(await mayReadRefusal(() => Promise.reject(new Error("the database is away")), own)).toBe(false);
});

test("a flood of origins makes no queue: of those under way at once some are not looked up", async () => {
  await using opened = openClient(postern.databaseUrl);
  const isRegistered = registeredOrigins(opened.client);
  const flood = Array.from({ length: 1_000 }, (_, n) => isRegistered(`https://flood${n}.example`));
  expect(await isRegistered(own)).toBe(false);
  expect(await Promise.all(flood)).not.toContain(true);
  expect(await isRegistered(own)).toBe(true);
});

test("a page learns nothing of a sign-in that it tries by a call", async () => {
  const { username, password } = await signedUp(postern);
  for (const path of ["/v1/sessions", "/postern.v1.SessionService/CreateSession"])
    for (const tried of [password, "Green-Kettle-42"]) {
      const body = JSON.stringify({ loginName: username, password: tried });
      const init = { method: "POST", body, headers: { "content-type": "application/json" } };
      expect(await read(issuer + path, own, init)).toBe("nothing");
    }
});

test("a page reads that its address has made too many calls", async () => {
  const { masterKeys, adminToken = "" } = postern.config;
  await using busy = await startPostern({
    ...{ databaseUrl: postern.databaseUrl, masterKeys, adminToken, callsPerAddressPerMinute: 2 },
  });
  const places = [...doors.map(([, path, init]) => [path, init] as const), ["/oauth/userinfo", {}] as const];
  for (const name of ["token", "revoke"]) places.push([`/oauth/${name}`, withForm({})]);
  for (const [path, init] of places) {
    let answer = await fetch(busy.url + path, init);
    for (let left = 100; left > 0 && answer.status !== 429 && !answer.headers.has("grpc-status"); left--)
      answer = await fetch(busy.url + path, init);
    for (const origin of [own, others])
      expect([path, await read(busy.url + path, origin, init)]).not.toContain("nothing");
    expect(await read(busy.url + path, evil, init)).toBe("nothing");
  }
});

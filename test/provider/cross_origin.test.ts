import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { type Application, answerIn, application, authorizeUrl, exchange, issuerOf, signIn } from "./application.ts";
import { openBrowser } from "./browser.ts";

const own = "https://console.example";
const others = "https://shop.example";
let postern: Postern;
let issuer: string;
let app: Application;
let token: string;
beforeAll(async () => {
  postern = await startPostern();
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
    const personal = postern.config.adminToken ?? "";
    expect([await allowed(own, personal), await allowed(own, "oa_unknown")]).toEqual([null, null]);
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

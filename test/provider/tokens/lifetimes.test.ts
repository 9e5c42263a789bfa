import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { refreshing } from "../../fixture/connection.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { openProbe, type Probe } from "../../probe.ts";
import {
  type Application,
  application,
  authorizeUrl,
  basic,
  codeFor,
  exchange,
  issuerOf,
  type Person,
  post,
  signIn,
} from "../application.ts";
import { openBrowser } from "../browser.ts";
import { approve, beginDevice, deviceApplication, poll } from "../device_flow.ts";

const instance = { oauthTokenLifetimeSeconds: 500, refreshIdleSeconds: 5_000, refreshLifetimeSeconds: 50_000 };

let postern: Postern;
let issuer: string;
let person: Person;
let probe: Probe;
beforeAll(async () => {
  postern = await startPostern(instance);
  issuer = issuerOf(postern);
  person = await signedUp(postern);
  probe = openProbe(postern.databaseUrl);
});
afterAll(async () => {
  await probe?.[Symbol.asyncDispose]();
  await postern?.[Symbol.asyncDispose]();
});

const offline = { scope: "openid offline_access" };
const jwt = { accessTokenType: "OIDC_TOKEN_TYPE_JWT" };

/** The tokens of a sign-in by a code. */
async function tokensOf(app: Application, more: Record<string, string> = {}) {
  const { status, body } = await exchange(issuer, app, (await codeFor(issuer, app, person, more)).code);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

const refreshed = (app: Application, refresh_token: string) =>
  post(issuer, "/oauth/token", { grant_type: "refresh_token", refresh_token }, basic(app));

async function change({ projectId, appId }: Application, changes: object) {
  const { status, body } = await postern.admin.call(
    "PATCH",
    `/v1/projects/${projectId}/applications/${appId}/oidc`,
    changes,
  );
  expect([status, body]).toEqual([200, expect.anything()]);
}

const secondsOf = ({ exp = 0, iat = 0 }: { exp?: number; iat?: number }) => exp - iat;

async function introspected(app: Application, token: string) {
  const { body } = await post(issuer, "/oauth/introspect", { token }, basic(app));
  expect(body.active).toBe(true);
  return secondsOf(body);
}

/** The seconds from the sign-in and from its newest refresh token's issue to their ends, and whether the sign-in outlasts its tokens. */
async function storedOf({ appId }: Application) {
  const [row] = await probe.sql<{ refresh: number; outlasts: boolean }[]>`
    select (select round(extract(epoch from r.expiration_date - now())) from refresh_tokens r
        where r.sign_on_id = o.sign_on_id and r.replaced is null)::int as refresh,
      not exists (select from sign_on_tokens t where t.sign_on_id = o.sign_on_id
        and t.expiration_date > o.expiration_date) as outlasts
    from sign_ons o where o.app_id = ${appId}`;
  return row;
}

/** Moves the beginning of an application's sign-in, and with it what it may do without another. */
const begunBefore = ({ appId }: Application, seconds: number) =>
  probe.sql`update sign_ons set created = created - ${seconds} * interval '1 second' where app_id = ${appId}`;

test.each([{}, jwt])(
  "tokens live as long as their application says, and responses and tokens say so (%o)",
  async (type) => {
    const own = { accessTokenLifetime: "120s", idTokenLifetime: "7200s" };
    const app = await application(postern.admin, { ...refreshing, ...type, ...own });
    const first = await tokensOf(app, offline);
    const { body: second } = await refreshed(app, first.refresh_token);
    for (const { access_token, id_token, expires_in } of [first, second]) {
      expect([expires_in, await introspected(app, access_token)]).toEqual([120, 120]);
      expect(secondsOf(decodeJwt(id_token))).toBe(7200);
      if (type === jwt) expect(secondsOf(decodeJwt(access_token))).toBe(120);
    }
    const plain = await tokensOf(await application(postern.admin, type));
    expect([plain.expires_in, secondsOf(decodeJwt(plain.id_token))]).toEqual([500, 500]);
  },
);

test("tokens of the authorization endpoint and of devices follow their application as well", async () => {
  const implicit = {
    ...{ responseTypes: ["OIDC_RESPONSE_TYPE_ID_TOKEN_TOKEN"], grantTypes: ["OIDC_GRANT_TYPE_IMPLICIT"] },
    ...{ accessTokenLifetime: "86400s", idTokenLifetime: "60s" },
  };
  const app = await application(postern.admin, implicit);
  const url = authorizeUrl(issuer, app, {
    ...{ response_type: "id_token token", code_challenge: undefined, code_challenge_method: undefined },
  });
  const { hash } = new URL((await signIn(openBrowser(issuer), url, person)).url);
  const given = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  expect([given.expires_in, secondsOf(decodeJwt(given.id_token ?? ""))]).toEqual(["86400", 60]);
  expect(await storedOf(app)).toMatchObject({ outlasts: true });

  const device = await deviceApplication(postern.admin, { accessTokenLifetime: "7200s", refreshTokenLifetime: "600s" });
  const codes = await beginDevice(issuer, device);
  await approve(issuer, codes, person);
  expect((await poll(issuer, device, codes)).body.expires_in).toBe(7_200);
  const stored = await storedOf(device);
  expect(stored?.outlasts).toBe(true);
  expect(stored?.refresh).toBeLessThanOrEqual(600);
});

test("refresh tokens end by their application's times: without use, and altogether", async () => {
  const idle = await application(postern.admin, { ...refreshing, refreshTokenIdleLifetime: "3600s" });
  const { refresh_token } = await tokensOf(idle, offline);
  const near = async (app: Application, seconds: number) =>
    expect(Math.abs(((await storedOf(app))?.refresh ?? 0) - seconds)).toBeLessThan(300);
  await near(idle, 3_600);
  expect((await refreshed(idle, refresh_token)).status).toBe(200);
  await near(idle, 3_600);

  const whole = await application(postern.admin, { ...refreshing, refreshTokenLifetime: "3000s" });
  await tokensOf(whole, offline);
  await near(whole, 3_000);

  // Longer than the instance's as well.
  const long = { refreshTokenIdleLifetime: "31622400s", refreshTokenLifetime: "31622400s" };
  const lasting = await application(postern.admin, { ...refreshing, ...long });
  await tokensOf(lasting, offline);
  await near(lasting, 31_622_400);
  const plain = await application(postern.admin, refreshing);
  await tokensOf(plain, offline);
  await near(plain, 5_000);
});

test("a shorter life of refresh tokens counts from the next refresh, for sign-ins that began before too", async () => {
  const app = await application(postern.admin, refreshing);
  const { refresh_token } = await tokensOf(app, offline);
  await begunBefore(app, 4_000);
  const { body } = await refreshed(app, refresh_token);
  expect(body.refresh_token).toBeDefined();
  await change(app, { refreshTokenLifetime: "3600s" });
  expect(await refreshed(app, body.refresh_token)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  await change(app, { refreshTokenLifetime: null });
  expect((await refreshed(app, body.refresh_token)).status).toBe(200);
});

test("an access token lives as long as its response says, even if nothing may be refreshed any more", async () => {
  const short = { refreshTokenLifetime: "60s", refreshTokenIdleLifetime: "60s" };
  const app = await application(postern.admin, { ...refreshing, ...short, accessTokenLifetime: "3600s" });
  const { refresh_token } = await tokensOf(app, offline);
  expect(await storedOf(app)).toMatchObject({ outlasts: true });
  await change(app, { accessTokenLifetime: "86400s" });
  const { body } = await refreshed(app, refresh_token);
  expect(body.expires_in).toBe(86_400);
  expect(await storedOf(app)).toMatchObject({ outlasts: true });

  // The same, where a refresh token that was used a moment ago is presented again.
  await change(app, { ...jwt, clockSkew: "5s" });
  expect((await refreshed(app, refresh_token)).body).toMatchObject({ expires_in: 86_400 });
  expect(await storedOf(app)).toMatchObject({ outlasts: true });
});

import { exportJWK, generateKeyPair, type JWK } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import {
  type Application,
  application,
  basic,
  issuerOf,
  type Person,
  post,
  signIn,
} from "../../provider/application.ts";
import { type Browser, openBrowser } from "../../provider/browser.ts";
import { grantedMachine } from "../../provider/machine.ts";
import { registerUris, type Started, startWebProgram } from "../../provider/web_program.ts";
import { found, type Toolchain } from "../toolchains.ts";
import { type Front, openFront } from "./front.ts";

/** The environment of a relying party. */
export type RelyingPartyEnvironment = {
  readonly ISSUER: string;
  readonly CLIENT_ID: string;
  readonly CLIENT_SECRET: string;
  readonly PROJECT_ID: string;
  /** A JSON Web Key by which the server authenticates; empty where it has none. */
  readonly PRIVATE_KEY: string;
  readonly AUTH_METHOD: string;
  readonly ID_TOKEN_ALGORITHM: string;
};

/**
 * A web server that signs in with a public library. One path leads to the provider; the callback and `/refresh` answer the claims of the ID
 * token that the library verified, and those of userinfo.
 */
export type RelyingParty = {
  readonly toolchain: Toolchain;
  readonly login?: string;
  readonly callback: string;
  /** The path by which its user signs out, the one where the browser is then, and the one for logout tokens. */
  readonly signOut?: Readonly<Record<"path" | "after" | "backChannel", string>>;
  /** In how many ways it gets tokens of a machine, which it answers at `/machine`. */
  readonly machine?: number;
  /** Builds the server; answers how to start it. */
  readonly build: () => Promise<Pick<Started, "command" | "cwd">>;
};

type Registration = {
  readonly method: string;
  readonly algorithm: string;
  readonly settings: Readonly<Record<string, unknown>>;
};

const registrations = {
  "with a secret in the header": {
    method: "client_secret_basic",
    algorithm: "RS256",
    settings: { authMethodType: "OIDC_AUTH_METHOD_TYPE_BASIC" },
  },
  "with a secret in the body, ID tokens of ES256, and JWTs": {
    method: "client_secret_post",
    algorithm: "ES256",
    settings: {
      authMethodType: "OIDC_AUTH_METHOD_TYPE_POST",
      idTokenAlgorithm: "OIDC_ID_TOKEN_ALGORITHM_ES256",
      accessTokenType: "OIDC_TOKEN_TYPE_JWT",
    },
  },
  "without a secret": {
    method: "none",
    algorithm: "RS256",
    settings: { authMethodType: "OIDC_AUTH_METHOD_TYPE_NONE", devMode: true },
  },
} satisfies Readonly<Record<string, Registration>>;

const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
const timeout = 600_000;

const byKey: Registration = {
  method: "private_key_jwt",
  algorithm: "RS256",
  settings: { authMethodType: "OIDC_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT" },
};

/** Signs a user in at a relying party, once for each way to register it, and out where it knows how. */
export function signsIn(
  library: string,
  { toolchain, login = "/login", callback, signOut, machine = 0, build }: RelyingParty,
): void {
  describe.skipIf(!found(toolchain))(library, () => {
    const opened = new AsyncDisposableStack();
    let front: Front;
    let postern: Postern;
    let program: Pick<Started, "command" | "cwd">;
    beforeAll(async () => {
      // Downloads for the build sometimes fail at first.
      program = await build().catch(build);
      front = opened.use(await openFront());
      postern = opened.use(await startPostern({ codeLifetimeSeconds: 600, ...front.settings }));
    }, timeout);
    afterAll(() => opened.disposeAsync());

    const start = (app: Application, registration: Registration, privateKey?: JWK) =>
      startWebProgram({ ...program, env: environmentOf(postern, app, { ...registration, privateKey }) });

    /** Signs a person in at a server; answers the browser and the claims. */
    async function signedIn(origin: string, person: Person, browser = openBrowser(issuerOf(postern))) {
      const url = await ledTo(browser, origin + login);
      expect(new URL(url).searchParams.get("code_challenge_method")).toBe("S256");
      const back = await signIn(browser, url, person);
      expect(back.url).toContain(`${origin}${callback}?code=`);
      const claims = { iss: issuerOf(postern), sub: person.userId };
      const userinfo = { sub: person.userId, name: "Ada Byron", preferred_username: person.username };
      const answer = await answered(browser, back.url);
      expect(answer).toMatchObject({ claims, userinfo });
      return {
        browser,
        claims,
        userinfo,
        answer: answer as { claims: { sid: string }; userinfo: { roles: string[] } },
      };
    }

    test.each(Object.entries(registrations))(
      "discovers, signs in, verifies, reads claims and refreshes, %s",
      { timeout },
      async (_, { settings, ...registered }) => {
        const app = await application(postern.admin, { grantTypes, ...settings });
        await using server = await start(app, { settings, ...registered });
        await registerUris(postern.admin, app, { redirectUris: [server.origin + callback] });
        const person = await signedUp(postern);
        const { browser, claims, userinfo, answer } = await signedIn(server.origin, person);
        expect(answer.userinfo.roles).toEqual([]);
        await giveRole(postern, app, person.userId);
        const fresh = await answered(browser, `${server.origin}/refresh`);
        expect(fresh).toMatchObject({ claims, userinfo: { ...userinfo, roles: ["editor"] } });
      },
    );

    test("authenticates by a key, of the application and then at its jwksUri", { timeout }, async () => {
      const app = await application(postern.admin, { grantTypes, ...byKey.settings });
      const keys = `/v1/projects/${app.projectId}/applications/${app.appId}/keys`;
      const { own, publicKey } = await newKey();
      const added = await postern.admin.post(keys, { publicKey });
      expect(added.status).toBe(200);
      await using server = await start(app, byKey, own);
      await registerUris(postern.admin, app, { redirectUris: [server.origin + callback] });
      const person = await signedUp(postern);
      const { browser, claims } = await signedIn(server.origin, person);
      expect(await answered(browser, `${server.origin}/refresh`)).toMatchObject({ claims });
      expect((await postern.admin.delete(`${keys}/${added.body.keyId}`)).status).toBe(200);
      const jwksUri = front.keySet([publicKey]);
      expect((await postern.admin.post(keys, { jwksUri })).status).toBe(200);
      expect(await answered(browser, `${server.origin}/refresh`)).toMatchObject({ claims });
      expect(front.paths).toContain(new URL(jwksUri).pathname);
    });

    test.skipIf(!machine)("gets tokens as a machine, by a secret and by a key file", { timeout }, async () => {
      const { admin } = postern;
      const robot = await grantedMachine(postern);
      const { keyFile } = (await admin.post(`/v1/users/${robot.userId}/keys`)).body;
      const app = { ...robot, appId: "", redirectUri: "" };
      const env = { ...environmentOf(postern, app, registrations["with a secret in the header"]), SCOPE: robot.scope };
      await using server = await startWebProgram({ ...program, env: { ...env, KEY_FILE: keyFile } });
      const response = await fetch(`${server.origin}/machine`, { redirect: "manual" });
      const tokens = (await response.json()) as string[];
      expect([response.status, tokens.length]).toEqual([200, machine]);
      for (const token of tokens) {
        const { body } = await post(issuerOf(postern), "/oauth/introspect", { token }, basic(robot.api));
        expect(body).toMatchObject({ sub: robot.userId, client_id: robot.clientId, roles: ["viewer"] });
      }
    });

    if (!signOut) return;
    test("signs out at Postern too, and is signed out with its session there", { timeout }, async () => {
      const { path, after, backChannel } = signOut;
      const registration = registrations["with a secret in the header"];
      const app = await application(postern.admin, { grantTypes, ...registration.settings });
      await using server = await start(app, registration);
      await registerUris(postern.admin, app, {
        redirectUris: [server.origin + callback],
        postLogoutRedirectUris: [server.origin + after],
        backChannelLogoutUri: front.url + backChannel,
      });
      front.sendTo(server.origin);
      const person = await signedUp(postern);
      const { browser } = await signedIn(server.origin, person);
      const left = await browser.open(await ledTo(browser, server.origin + path));
      expect(left.url).toBe(server.origin + after);

      // The browser is signed in nowhere: this shows the form again.
      const [here, elsewhere] = [await signedIn(server.origin, person, browser), await signedIn(server.origin, person)];
      expect((await postern.admin.delete(`/v1/sessions/${here.answer.claims.sid}`)).status).toBe(200);
      await vi.waitFor(async () => expect((await browser.send(server.origin)).status).toBe(302), timeout);
      expect((await elsewhere.browser.send(server.origin)).status).toBe(200);
    });
  });
}

/** A key, with its public half as an application has it. */
async function newKey() {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const { kty = "", n, e } = await exportJWK(publicKey);
  const own = { ...(await exportJWK(privateKey)), kid: "k1", alg: "RS256" };
  return { own, publicKey: { kty, n, e, kid: "k1", alg: "RS256" } as JWK };
}

type Ways = Pick<Registration, "method" | "algorithm"> & { readonly privateKey?: JWK | undefined };

/** The environment of a relying party that is registered as an application. */
export const environmentOf = (
  postern: Postern,
  app: Application,
  { method, algorithm, privateKey }: Ways,
): RelyingPartyEnvironment => ({
  ISSUER: issuerOf(postern),
  CLIENT_ID: app.clientId,
  CLIENT_SECRET: app.clientSecret,
  PROJECT_ID: app.projectId,
  PRIVATE_KEY: privateKey ? JSON.stringify(privateKey) : "",
  AUTH_METHOD: method,
  ID_TOKEN_ALGORITHM: algorithm,
});

/** The place that a server sends a browser to; servers use 302 as well. */
async function ledTo(browser: Browser, url: string): Promise<string> {
  const { status, headers, text } = await browser.send(url);
  expect([status, text]).toEqual([expect.toSatisfy((code) => code === 302 || code === 303), expect.anything()]);
  return new URL(headers.get("location") ?? "", url).href;
}

/** The JSON of a server, behind redirects of its own. */
async function answered(browser: Browser, url: string): Promise<unknown> {
  const { status, text, headers } = await browser.send(url);
  const location = headers.get("location");
  if (location !== null) return answered(browser, new URL(location, url).href);
  expect([status, text]).toEqual([200, expect.anything()]);
  return JSON.parse(text);
}

async function giveRole({ admin }: Postern, { projectId }: Application, userId: string) {
  const role = { key: "editor", displayName: "Editor" };
  expect((await admin.post(`/v1/projects/${projectId}/roles`, role)).status).toBe(200);
  const grant = { projectId, roleKeys: ["editor"] };
  expect((await admin.post(`/v1/users/${userId}/grants`, grant)).status).toBe(200);
}

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { type Application, application, issuerOf, signIn } from "../../provider/application.ts";
import { type Browser, openBrowser } from "../../provider/browser.ts";
import { registerUris, type Started, startWebProgram } from "../../provider/web_program.ts";
import { found, type Toolchain } from "../toolchains.ts";

/** The environment of a relying party. */
export type RelyingPartyEnvironment = {
  readonly ISSUER: string;
  readonly CLIENT_ID: string;
  readonly CLIENT_SECRET: string;
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
  /** Builds the server; answers how to start it. */
  readonly build: () => Promise<Pick<Started, "command" | "cwd">>;
};

type Registration = {
  readonly method: string;
  readonly algorithm: string;
  readonly settings: Readonly<Record<string, unknown>>;
};

const registrations: Readonly<Record<string, Registration>> = {
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
};

const grantTypes = ["OIDC_GRANT_TYPE_AUTHORIZATION_CODE", "OIDC_GRANT_TYPE_REFRESH_TOKEN"];
const timeout = 600_000;

/** Signs a user in at a relying party, once for each way to register it. */
export function signsIn(library: string, { toolchain, login = "/login", callback, build }: RelyingParty): void {
  describe.skipIf(!found(toolchain))(library, () => {
    const opened = new AsyncDisposableStack();
    let postern: Postern;
    let program: Pick<Started, "command" | "cwd">;
    beforeAll(async () => {
      // What it is built from sometimes does not come at once.
      program = await build().catch(build);
      postern = opened.use(await startPostern({ codeLifetimeSeconds: 600 }));
    }, timeout);
    afterAll(() => opened.disposeAsync());

    test.each(Object.entries(registrations))(
      "discovers, signs in, verifies, reads claims and refreshes, %s",
      { timeout },
      async (_, { settings, ...registered }) => {
        const app = await application(postern.admin, { grantTypes, ...settings });
        const env = environmentOf(postern, app, registered);
        await using server = await startWebProgram({ ...program, env });
        await registerUris(postern.admin, app, { redirectUris: [server.origin + callback] });
        const [person, browser] = [await signedUp(postern), openBrowser(issuerOf(postern))];
        const url = await ledTo(browser, server.origin + login);
        expect(new URL(url).searchParams.get("code_challenge_method")).toBe("S256");
        const back = await signIn(browser, url, person);
        expect(back.url).toContain(`${server.origin}${callback}?code=`);
        const claims = { iss: issuerOf(postern), sub: person.userId };
        const userinfo = { sub: person.userId, name: "Ada Byron", preferred_username: person.username };
        expect(await answered(browser, back.url)).toMatchObject({ claims, userinfo: { ...userinfo, roles: [] } });
        await giveRole(postern, app, person.userId);
        const fresh = await answered(browser, `${server.origin}/refresh`);
        expect(fresh).toMatchObject({ claims, userinfo: { ...userinfo, roles: ["editor"] } });
      },
    );
  });
}

type Ways = Pick<Registration, "method" | "algorithm">;

const environmentOf = (postern: Postern, app: Application, { method, algorithm }: Ways): RelyingPartyEnvironment => ({
  ISSUER: issuerOf(postern),
  CLIENT_ID: app.clientId,
  CLIENT_SECRET: app.clientSecret,
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

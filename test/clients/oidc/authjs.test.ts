import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { application, issuerOf, signIn } from "../../provider/application.ts";
import { openBrowser } from "../../provider/browser.ts";
import { registerUris, startWebProgram } from "../../provider/web_program.ts";
import { openWorkshop } from "../workshop.ts";

let postern: Postern;
let cwd: string;
beforeAll(async () => {
  const workshop = await openWorkshop("oidc/authjs");
  await workshop.must("npm", "install", "--no-audit", "--no-fund");
  cwd = workshop.folder;
  postern = await startPostern();
}, 300_000);
afterAll(() => postern?.[Symbol.asyncDispose]());

/** Signs a new user in by Auth.js at an application with these settings; answers the session, or where it ended otherwise. */
async function session(settings: Readonly<Record<string, unknown>>, method = "") {
  const app = await application(postern.admin, settings);
  const env = {
    ISSUER: issuerOf(postern),
    CLIENT_ID: app.clientId,
    CLIENT_SECRET: app.clientSecret,
    AUTH_METHOD: method,
  };
  await using program = await startWebProgram({ command: [process.execPath, "app.js"], cwd, env });
  const callback = `${program.origin}/auth/callback/postern`;
  await registerUris(postern.admin, app, { redirectUris: [callback] });
  const person = await signedUp(postern);
  const browser = openBrowser(issuerOf(postern));
  const login = await browser.send(`${program.origin}/login`);
  const back = await signIn(browser, login.headers.get("location") ?? "", person);
  expect(back.url).toContain(`${callback}?code=`);
  const { headers } = await browser.send(back.url);
  const home = await browser.send(`${program.origin}/`);
  return { person, end: headers.get("location") ?? "", session: JSON.parse(home.text) };
}

const withClaims = { devMode: true, idTokenUserinfoAssertion: true };

test("Auth.js signs in as it is, and its user has a name if ID tokens have the claims", async () => {
  const { person, session: own } = await session(withClaims);
  expect(own).toMatchObject({ user: { name: "Ada Byron" }, claims: { sub: person.userId } });
  const { person: other, session: bare } = await session({ devMode: true });
  expect(bare.claims.sub).toBe(other.userId);
  expect(bare.user.name).toBeUndefined();
});

test("Auth.js sends its secret in the body if both sides say so, and fails if one does", async () => {
  const posting = { ...withClaims, authMethodType: "OIDC_AUTH_METHOD_TYPE_POST" };
  expect((await session(posting, "client_secret_post")).session.user.name).toBe("Ada Byron");
  const refused = await session(posting);
  expect([refused.end, refused.session]).toEqual([expect.stringContaining("error"), null]);
});

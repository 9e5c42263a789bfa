import { afterAll, beforeAll, expect, test } from "vitest";
import { unique } from "../../events/log_of.ts";
import { organization, type Postern, sharedPostern } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  basic,
  exchange,
  issuerOf,
  post,
  signIn,
} from "../application.ts";
import { openBrowser } from "../browser.ts";

const password = "Blue-Kettle-42";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** A customer of the application, whose login names may be its own. */
async function customer(ownLoginNames = true): Promise<string> {
  const organizationId = await organization(postern);
  await postern.admin.call("PATCH", `/v1/organizations/${organizationId}`, { ownLoginNames });
  await postern.admin.post(`/v1/projects/${app.projectId}/grants`, { grantedOrganizationId: organizationId });
  return organizationId;
}

async function person(organizationId: string, username: string) {
  const names = { username, givenName: "Jane", familyName: "Doe", email: `${unique("jane")}@example.com` };
  const human = { ...names, password, isEmailVerified: true };
  const items = [{ human }];
  const { body } = await postern.admin.post("/v1/users:batchCreate", { items }, inside(organizationId));
  return { ...human, userId: body.outcomes[0].created.userId as string };
}

const within = (organizationId: string) => `openid profile urn:postern:organization:id:${organizationId}`;
const urlFor = (organizationId: string, more = {}) =>
  authorizeUrl(issuer, app, { scope: within(organizationId), ...more });

/** What userinfo and introspection say about whoever signs in, if anybody does; users of other organizations allow it first. */
async function claimsOf(url: string, username: string, browser = openBrowser(issuer)) {
  const asked = await signIn(browser, url, { username, password });
  if (asked.status !== 200) return asked.status;
  const allowed = asked.text.includes('value="allow"') ? await browser.submit(asked, {}, "allow") : asked;
  const { body } = await exchange(issuer, app, answerIn(allowed).code ?? "");
  const headers = { authorization: `Bearer ${body.access_token}` };
  const info = (await (await fetch(`${issuer}/oauth/userinfo`, { headers })).json()) as Record<string, unknown>;
  const introspected = await post(issuer, "/oauth/introspect", { token: body.access_token }, basic(app));
  expect(introspected.body.username).toBe(info.preferred_username);
  return { sub: info.sub, name: info.preferred_username };
}

test("an application tells the janes of two customers apart, and each signs in where she is", async () => {
  const [a, b, c] = [await customer(), await customer(), await customer(false)];
  const username = unique("jane");
  const [ofA, ofB, ofC] = [await person(a, username), await person(b, username), await person(c, username)];
  const inA = { sub: ofA.userId, name: `${username}@${a}` };
  expect(await claimsOf(urlFor(a), username)).toEqual(inA);
  expect(await claimsOf(urlFor(b), username)).toEqual({ sub: ofB.userId, name: `${username}@${b}` });
  // The names of this customer are in the directory.
  expect(await claimsOf(urlFor(c), username)).toEqual({ sub: ofC.userId, name: username });
  const without = authorizeUrl(issuer, app, { scope: "openid profile" });
  expect(await claimsOf(without, username)).toEqual({ sub: ofC.userId, name: username });
  // The name in the claim also works without the scope.
  expect(await claimsOf(without, `${username}@${a}`)).toEqual(inA);
  expect(await claimsOf(urlFor(a), unique("nobody"))).toBe(401);
  // Users of the directory are elsewhere, unless they say where.
  const own = await person(a, unique("joan"));
  expect(await claimsOf(without, own.username)).toBe(401);
});

test("a page suggests a name that works there, and a hint with the name of the claim finds its session", async () => {
  const a = await customer();
  const { username } = await person(a, unique("jane"));
  const browser = openBrowser(issuer);
  await claimsOf(urlFor(a), username, browser);
  const inA = await browser.open(urlFor(a, { prompt: "login" }));
  expect(inA.text).toContain(`value="${username}"`);
  const without = authorizeUrl(issuer, app, { scope: "openid", prompt: "login" });
  expect((await browser.open(without)).text).toContain(`value="${username}@${a}"`);
  for (const loginHint of [username, `${username}@${a}`]) {
    const silent = urlFor(a, {
      scope: `openid urn:postern:organization:id:${a}`,
      prompt: "none",
      login_hint: loginHint,
    });
    expect(answerIn(await browser.open(silent)).error).toBe(undefined);
  }
  const elsewhere = authorizeUrl(issuer, app, { scope: "openid", prompt: "none", login_hint: username });
  expect(answerIn(await browser.open(elsewhere)).error).toBe("login_required");
});

test("who forgot the password at a customer's page gets a mail for the name there", async () => {
  const [a, c] = [await customer(), await customer(false)];
  const username = unique("jane");
  const [ofA, ofC] = [await person(a, username), await person(c, username)];
  const browser = openBrowser(issuer);
  const asked = await browser.submit(await browser.open(urlFor(a)), {}, "forgotten");
  await browser.submit(asked, { account: username }, "send");
  const [mail] = await mailsTo(postern, ofA.email);
  expect(mail?.text).toContain(`Account: ${username}@${a}`);
  const plain = openBrowser(issuer);
  const page = await plain.open(`${issuer}/password/forgotten`);
  await plain.submit(page, { account: `${username}@${a}` }, "send");
  expect((await mailsTo(postern, ofA.email, 2)).length).toBe(2);
  await plain.submit(page, { account: username }, "send");
  expect((await mailsTo(postern, ofC.email))[0]?.text).toContain(`Account: ${username}`);
});

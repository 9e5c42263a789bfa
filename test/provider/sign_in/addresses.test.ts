import { afterAll, beforeAll, expect, test } from "vitest";
import { unique } from "../../events/log_of.ts";
import { type Answer, organization, type Postern, sharedPostern } from "../../harness.ts";
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

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const inside = (organizationId: string) => ({ "x-service-orgid": organizationId });

/** A customer of the application, with login names of its own. */
async function customer() {
  const organizationId = await organization(postern);
  done(await postern.admin.call("PATCH", `/v1/organizations/${organizationId}`, { ownLoginNames: true }));
  const grant = { grantedOrganizationId: organizationId };
  done(await postern.admin.post(`/v1/projects/${app.projectId}/grants`, grant));
  const { name } = done(await postern.admin.get(`/v1/organizations/${organizationId}`)).organization;
  return { organizationId, name: name as string };
}

async function person(organizationId: string, username: string, more = {}) {
  const names = { username, givenName: "Jane", familyName: "Doe", email: `${unique("jane")}@example.com` };
  const human = { ...names, password, isEmailVerified: true, ...more };
  const made = await postern.admin.post("/v1/users:batchCreate", { items: [{ human }] }, inside(organizationId));
  return { ...human, userId: done(made).outcomes[0].created.userId as string };
}

const give = async (organizationId: string, name: string): Promise<string> =>
  done(await postern.admin.post("/v1/domains", { name, withoutDns: true }, inside(organizationId))).domainId;
const take = async (organizationId: string, domainId: string) =>
  done(await postern.admin.delete(`/v1/domains/${domainId}`, inside(organizationId)));
const someDomain = () => `${unique("firm")}.example`;

const anywhere = (more = {}) => authorizeUrl(issuer, app, { scope: "openid profile email", ...more });

/** Signs in on the page; answers what it says if it refuses, else what userinfo and introspection say. */
async function claimsOf(fields: Record<string, string>, browser = openBrowser(issuer), of = app) {
  const url = authorizeUrl(issuer, of, { scope: "openid profile email", prompt: "login" });
  const asked = await browser.submit(await browser.open(url), { password, ...fields });
  if (asked.status !== 200) return asked.status;
  const allowed = asked.text.includes('value="allow"') ? await browser.submit(asked, {}, "allow") : asked;
  const { body } = await exchange(issuer, of, answerIn(allowed).code ?? "");
  const headers = { authorization: `Bearer ${body.access_token}` };
  const info = (await (await fetch(`${issuer}/oauth/userinfo`, { headers })).json()) as Record<string, unknown>;
  const introspected = await post(issuer, "/oauth/introspect", { token: body.access_token }, basic(of));
  expect(introspected.body.username).toBe(info.preferred_username);
  return { sub: info.sub, name: info.preferred_username, verified: info.email_verified };
}

test("applications see a name with the domain that its organization has had for longest, and it signs in", async () => {
  const { organizationId } = await customer();
  const jane = await person(organizationId, "jane");
  const [first, second] = [someDomain(), someDomain()];
  const nameOf = async (login_name: string) => {
    const claims = await claimsOf({ login_name });
    return typeof claims === "object" && claims.sub === jane.userId ? claims.name : claims;
  };
  expect(await nameOf(`jane@${organizationId}`)).toBe(`jane@${organizationId}`);
  const firstId = await give(organizationId, first);
  const secondId = await give(organizationId, second);
  for (const typed of [`jane@${organizationId}`, `jane@${first}`, `jane@${second}`])
    expect(await nameOf(typed)).toBe(`jane@${first}`);
  await take(organizationId, firstId);
  expect([await nameOf(`jane@${second}`), await nameOf(`jane@${first}`)]).toEqual([`jane@${second}`, 401]);
  // What it has again, it has had for less long.
  const again = await give(organizationId, first);
  expect(await nameOf(`jane@${second}`)).toBe(`jane@${second}`);
  await take(organizationId, secondId);
  expect(await nameOf(`jane@${first}`)).toBe(`jane@${first}`);

  // A name that would be somebody else's is not used, and one with a domain needs no other.
  const june = await person(organizationId, "june", { email: `jane@${first}` });
  expect(await nameOf(`jane@${organizationId}`)).toBe(`jane@${organizationId}`);
  done(await postern.admin.delete(`/v1/users/${june.userId}`));
  expect(await nameOf(`jane@${organizationId}`)).toBe(`jane@${first}`);
  const exact = await person(organizationId, `jane@${first}`);
  expect(await claimsOf({ login_name: `jane@${first}` })).toMatchObject({ sub: exact.userId, name: `jane@${first}` });
  expect(await nameOf(`jane@${organizationId}`)).toBe(`jane@${organizationId}`);
  await take(organizationId, again);
  expect(await claimsOf({ login_name: `jane@${first}@${organizationId}` })).toMatchObject({
    name: `jane@${first}@${organizationId}`,
  });
});

test("no two users have the same name at an application, and the name of each signs in as nobody else", async () => {
  const { organizationId } = await customer();
  const domain = someDomain();
  await give(organizationId, domain);
  const elsewhere = await customer();
  const names = async (login_name: string) => Object(await claimsOf({ login_name }));
  // In the directory, before and after somebody has proven the domain, whatever the letters look like.
  const directory = postern.organizationId;
  for (const username of [`joe@${domain}`, `ｊｉｍ＠${domain.toUpperCase()}`]) {
    const { userId } = await person(directory, username);
    const { sub, name } = await names(`${username}@${directory}`);
    expect([sub, name]).toEqual([userId, `${username}@${directory}`]);
    expect(await names(name)).toMatchObject({ sub: userId, name });
  }
  const joe = await person(organizationId, "joe");
  expect(await names(`joe@${domain}`)).toMatchObject({ sub: joe.userId, name: `joe@${domain}` });
  const named = await person(elsewhere.organizationId, `joe@${domain}`);
  expect(await names(`joe@${domain}@${elsewhere.organizationId}`)).toMatchObject({
    sub: named.userId,
    name: `joe@${domain}@${elsewhere.organizationId}`,
  });
  // Within an organization, names are compared as sign-ins compare them.
  const wide = await person(organizationId, "ＪＡＮＥ");
  const exact = await person(organizationId, `jane@${domain}`);
  expect(await names(`jane@${domain}`)).toMatchObject({ sub: exact.userId, name: `jane@${domain}` });
  const { name } = await names(`jane@${organizationId}`);
  expect(name).toBe(`ＪＡＮＥ@${organizationId}`);
  expect(await names(name)).toMatchObject({ sub: wide.userId });
});

test("email_verified tells other organizations' applications only what a mail or a domain has proven", async () => {
  const { organizationId } = await customer();
  const domain = someDomain();
  const own = await application(postern.admin, {}, inside(organizationId));
  const jane = await person(organizationId, unique("jane"), { email: `jane.doe@${domain}` });
  const login_name = `${jane.username}@${organizationId}`;
  const said = async (of: Application) => Object(await claimsOf({ login_name }, openBrowser(issuer), of)).verified;
  expect([await said(app), await said(own)]).toEqual([false, true]);
  const domainId = await give(organizationId, domain);
  expect([await said(app), await said(own)]).toEqual([true, true]);
  await take(organizationId, domainId);
  expect(await said(app)).toBe(false);
  // Another organization's domain says nothing about this one's users.
  await give(postern.organizationId, domain);
  expect(await said(app)).toBe(false);
  const code = /\b[2-9B-Z]{4}(-[2-9B-Z]{4}){3}\b/;
  done(await postern.as().post("/v1/password-resets", { loginName: jane.username, organizationId }));
  const verificationCode = code.exec((await mailsTo(postern, jane.email, 1, code))[0]?.text ?? "")?.[0];
  done(await postern.as().post("/v1/password-resets:complete", { verificationCode, newPassword: password }));
  expect([await said(app), await said(own)]).toEqual([true, true]);
});

test("the page takes an address, and asks for the organization unless the request names it", async () => {
  const { organizationId } = await customer();
  const domain = someDomain();
  await give(organizationId, domain);
  const jane = await person(organizationId, unique("jane"), { email: `${unique("jane")}@${domain}` });
  const { sub } = Object(await claimsOf({ login_name: jane.email.toUpperCase() }));
  expect(sub).toBe(jane.userId);
  for (const organization of [domain, domain.toUpperCase(), organizationId, ` ${organizationId.toUpperCase()}`])
    expect(await claimsOf({ login_name: jane.username, organization })).toMatchObject({ sub: jane.userId });
  for (const organization of ["", "nowhere.example", "Acme & Sons", postern.organizationId])
    expect(await claimsOf({ login_name: jane.username, organization })).toBe(401);

  const browser = openBrowser(issuer);
  const form = await browser.open(anywhere());
  expect(form.text).toContain("<details>");
  const wrong = await browser.submit(form, { login_name: "x", password: "x", organization: `"${domain}` });
  expect([wrong.status, wrong.text]).toEqual([401, expect.stringContaining(`value="&quot;${domain}"`)]);
  expect(wrong.text).toContain("<details open>");
  const scope = `openid urn:postern:organization:id:${organizationId}`;
  const named = await openBrowser(issuer).open(authorizeUrl(issuer, app, { scope }));
  expect(named.text).not.toContain("<details");

  const page = await browser.open(`${issuer}/password/forgotten`);
  await browser.submit(page, { account: jane.username, organization: domain }, "send");
  const [mail] = await mailsTo(postern, jane.email, 1, /[2-9B-Z]{4}-[2-9B-Z]{4}/);
  expect(mail?.text).toContain(`Account: ${jane.username}@${domain}`);
});

test("at the page of an organization, its users are found although another one has the domain of their names", async () => {
  const [{ organizationId: holder }, domain] = [await customer(), someDomain()];
  const here = await organization(postern);
  const grant = { grantedOrganizationId: here };
  done(await postern.admin.post(`/v1/projects/${app.projectId}/grants`, grant));
  const joe = await person(here, `joe@${domain}`);
  const consultant = await person(postern.organizationId, unique("consultant"));
  await give(holder, domain);
  const login = async (login_name: string, scope?: string) => {
    const browser = openBrowser(issuer);
    const page = await browser.open(authorizeUrl(issuer, app, { prompt: "login", ...(scope ? { scope } : {}) }));
    return (await browser.submit(page, { login_name, password })).status;
  };
  const scope = `openid urn:postern:organization:id:${here}`;
  expect([await login(joe.username), await login(joe.username, scope)]).toEqual([401, 200]);
  // Somebody from elsewhere, who may not sign in for it, but is found.
  expect(await login(consultant.username, scope)).not.toBe(401);
  expect(await login(`nobody@${domain}`, scope)).toBe(401);
});

test("choosers and account pages show whose account it is", async () => {
  const [one, two] = [await customer(), await customer()];
  const domain = someDomain();
  await give(two.organizationId, domain);
  const username = unique("jane");
  await person(one.organizationId, username);
  await person(two.organizationId, username);
  const browser = openBrowser(issuer);
  await claimsOf({ login_name: `${username}@${one.organizationId}` }, browser);
  await claimsOf({ login_name: `${username}@${domain}` }, browser);
  const chooser = await browser.open(anywhere({ prompt: "select_account" }));
  const small = [...chooser.text.matchAll(/<small>([^<]*)</g)].map(([, text]) => text);
  expect(small).toEqual([`${username}@${domain}`, two.name, `${username}@${one.organizationId}`, one.name]);
  expect((await browser.open(`${issuer}/account/sessions`)).text).toContain(`<b>${username}@${domain}</b>`);
});

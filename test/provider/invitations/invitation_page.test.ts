import { afterAll, beforeAll, expect, test } from "vitest";
import { text } from "../../../src/messages/catalogue.ts";
import { pageText } from "../../../src/messages/page.ts";
import { organization, type Postern, sharedPostern, signedUp } from "../../harness.ts";
import {
  administrator,
  codeTo,
  done,
  invite,
  linkTo,
  newAddress,
  projectOf,
} from "../../services/invitations/invited.ts";
import { issuerOf } from "../application.ts";
import { type Browser, hiddenIn, openBrowser, type Shown } from "../browser.ts";
import { alertOf, titleOf } from "../mail_pages/mail_links.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const password = "Green-Teapot-77";

/** An organization whose owner has invited an address. */
async function invited(email = newAddress(), memberships: readonly object[] = [{ roles: ["ORG_VIEWER"] }]) {
  const organizationId = await organization(postern);
  const inside = { "x-service-orgid": organizationId };
  const owner = await administrator(postern, organizationId, ["ORG_OWNER"]);
  const projectId = await projectOf(owner.client, {});
  const grants = [{ projectId, roleKeys: ["viewer"] }];
  const invitationId = await invite(owner.client, { email, memberships, grants });
  return { organizationId, inside, owner, projectId, email, invitationId, link: await linkTo(postern, email) };
}

const rolesOf = async (userId: string) =>
  done(await postern.admin.get(`/v1/users/${userId}/roles`)).userRoles.map((one: { roles: string[] }) => one.roles);

const nameOf = async (organizationId: string) =>
  done(await postern.admin.get(`/v1/organizations/${organizationId}`)).organization.name;

/** Signs in on the page that a browser was led to. */
const signIn = (browser: Browser, page: Shown, { username, password: typed }: { username: string; password: string }) =>
  browser.submit(page, { login_name: username, password: typed });

const ada = { given_name: "Ada", family_name: "Lovelace", new_password: password };

test("a new user accepts by creating an account, whose address is verified, and signs in with it", async () => {
  const { organizationId, owner, email, link } = await invited();
  const browser = openBrowser(issuer);
  const page = await browser.open(link);
  expect([page.status, page.url, titleOf(page)]).toEqual([
    200,
    `${issuer}/invitation/organization`,
    pageText("invited_title", "en"),
  ]);
  expect(page.text).toContain(pageText("invited_text", "en", { organization: await nameOf(organizationId) }));
  for (const shown of [email, pageText("role_viewer", "en"), ": viewer"]) expect(page.text).toContain(shown);
  const weak = await browser.submit(page, { ...ada, username: email, new_password: "short" }, "join");
  expect([weak.status, alertOf(weak)]).toEqual([400, expect.stringMatching(/at least 8 characters/)]);
  expect(weak.text).toContain('value="Lovelace"');
  const joined = await browser.submit(weak, { ...ada, username: email }, "join");
  expect([joined.status, titleOf(joined)]).toEqual([200, pageText("joined_title", "en")]);
  const { users } = done(await owner.client.get(`/v1/users?filter.email=${email}`));
  expect(users).toMatchObject([{ username: email, human: { givenName: "Ada", email, emailVerified: true } }]);
  expect((await rolesOf(users[0].id)).sort()).toEqual([["ORG_VIEWER"], ["viewer"]]);
  // The mail has proven the address, so it finds the user, whatever the login name is.
  done(await owner.client.put(`/v1/users/${users[0].id}/username`, { username: `ada-${users[0].id}` }));
  const account = openBrowser(issuer);
  const signedIn = await signIn(account, await account.open(`${issuer}/account`), { username: email, password });
  expect([signedIn.url, signedIn.text]).toEqual([`${issuer}/account`, expect.stringContaining("Ada Lovelace")]);
  // The link has done its work, here and elsewhere.
  for (const one of [browser, openBrowser(issuer)])
    expect(alertOf(await one.open(link))).toBe(pageText("invitation_over", "en"));
});

test("the password that the new user chose counts as their own", async () => {
  const { owner, email, link, inside } = await invited();
  const policy = { minimumLength: 8, changeAtNextSignIn: true };
  done(await postern.admin.put("/v1/policies/password", { policy }, inside));
  const browser = openBrowser(issuer);
  const joined = await browser.submit(await browser.open(link), { ...ada, username: email }, "join");
  expect(titleOf(joined)).toBe(pageText("joined_title", "en"));
  expect((await postern.as().post("/v1/sessions", { loginName: email, password })).status).toBe(200);
  expect(owner).toBeDefined();
});

test("a login name that is taken, or none, is refused, and what was typed stays", async () => {
  const [{ link }, other] = [await invited(), await signedUp(postern)];
  const browser = openBrowser(issuer);
  const page = await browser.open(link);
  const taken = await browser.submit(page, { ...ada, username: other.username.toUpperCase() }, "join");
  expect([taken.status, alertOf(taken)]).toEqual([
    400,
    `${pageText("invited_name", "en")} – ${text("LOGIN_NAME_TAKEN", "en", { name: other.username.toUpperCase() })}`,
  ]);
  expect(taken.text).not.toContain(other.userId);
  const none = await browser.submit(page, { ...ada, username: "two words", given_name: " " }, "join");
  expect([none.status, none.text.match(/role="alert"/g)?.length]).toEqual([400, 2]);
  for (const label of ["invited_name", "given_name"] as const)
    expect(none.text).toContain(`role="alert">${pageText(label, "en")} – `);
});

test("a new user cannot take somebody else's address for a login name, by which that person would sign in", async () => {
  const email = `M${newAddress()}`;
  const { link } = await invited(email);
  const browser = openBrowser(issuer);
  const page = await browser.open(link);
  for (const username of ["boss@example.com", "boss＠EXAMPLE.com.", `${email}.example`, `x@${email}`]) {
    const refused = await browser.submit(page, { ...ada, username }, "join");
    expect([username, refused.status, alertOf(refused)]).toEqual([
      username,
      400,
      expect.stringContaining(text("USERNAME_OF_OTHER_ADDRESS", "en")),
    ]);
  }
  const joined = await browser.submit(page, { ...ada, username: email.toLowerCase() }, "join");
  expect(titleOf(joined)).toBe(pageText("joined_title", "en"));
});

test("an existing user signs in, sees the account and what is offered, and accepts", async () => {
  const person = await signedUp(postern);
  const { link, organizationId } = await invited(`${person.username}@example.com`);
  const browser = openBrowser(issuer);
  const asked = await browser.submit(await browser.open(link), {}, "sign_in");
  const page = await signIn(browser, asked, person);
  expect(page.url).toBe(`${issuer}/invitation/organization`);
  expect(page.text).toContain(`Ada Byron (${person.username}), in ${await nameOf(postern.organizationId)}`);
  expect(page.text).toContain(await nameOf(organizationId));
  expect(await rolesOf(person.userId)).toEqual([]);
  const accepted = await browser.submit(page, {}, "accept");
  expect([accepted.status, titleOf(accepted)]).toEqual([200, pageText("accepted_title", "en")]);
  expect(await rolesOf(person.userId)).toHaveLength(2);
});

test("an account with another address cannot accept; its user can use another one or create one", async () => {
  const [stranger, person] = [await signedUp(postern), await signedUp(postern)];
  const { link, email } = await invited(`${person.username}@example.com`);
  const browser = openBrowser(issuer);
  await signIn(browser, await browser.open(`${issuer}/account`), stranger);
  const page = await browser.open(link);
  expect(page.text).toContain(pageText("invited_other", "en"));
  expect(page.text).not.toContain('value="accept"');
  // A form of another account, or one that was made up, binds nothing.
  for (const user of [person.userId, stranger.userId]) {
    const body = new URLSearchParams({ ...hiddenIn(page.text), user, action: "accept" });
    const forced = await browser.send(`${issuer}/invitation/organization`, { method: "POST", body });
    expect(forced.text).toContain(pageText("invited_other", "en"));
  }
  const other = await browser.submit(page, {}, "sign_in");
  const asPerson = await signIn(browser, await browser.submit(other, {}, "other"), person);
  expect(titleOf(await browser.submit(asPerson, {}, "accept"))).toBe(pageText("accepted_title", "en"));
  expect(await rolesOf(stranger.userId)).toEqual([]);
  expect(email).toContain(person.username);
});

test("an account that only says the invited address is its own is sent to confirm it, and then accepts", async () => {
  const [person, { link, email }] = [await signedUp(postern), await invited()];
  const browser = openBrowser(issuer);
  await signIn(browser, await browser.open(`${issuer}/account`), person);
  done(await person.client.post(`/v1/users/${person.userId}/email`, { email }));
  const page = await browser.open(link);
  expect(page.text).toContain(pageText("invited_unconfirmed", "en"));
  expect(page.text).not.toContain('value="accept"');
  const confirm = await browser.open(`${issuer}/account/email`);
  expect(page.text).toContain('href="/account/email"');
  const code = await codeTo(postern, email, { like: /^[2-9B-Z]{6}$/m });
  await browser.submit(confirm, { code }, "confirm");
  const accepted = await browser.submit(await browser.open(`${issuer}/invitation/organization`), {}, "accept");
  expect(titleOf(accepted)).toBe(pageText("accepted_title", "en"));
});

test("a form answers the invitation that it was shown for, whatever link the browser has opened since", async () => {
  const person = await signedUp(postern);
  const [shown, since] = [await invited(), await invited(`${person.username}@example.com`)];
  const browser = openBrowser(issuer);
  const page = await browser.open(shown.link);
  const other = await browser.open(since.link);
  const joining = { ...ada, username: shown.email };
  const answered = [await browser.submit(page, joining, "join"), await browser.submit(page, {}, "decline")];
  for (const { text } of answered) expect(text).toContain(await nameOf(since.organizationId));
  expect(answered[0]?.text).toContain('value="Lovelace"');
  await signIn(browser, await browser.submit(other, {}, "sign_in"), person);
  const [mine, again] = [await browser.open(since.link), await browser.open(shown.link)];
  expect((await browser.submit(mine, {}, "accept")).text).toContain(await nameOf(shown.organizationId));
  expect(again.text).not.toContain('value="accept"');
  for (const { owner, invitationId } of [shown, since])
    expect((await owner.client.get(`/v1/invitations/${invitationId}`)).status).toBe(200);
});

test("who is signed in can still create a new account", async () => {
  const stranger = await signedUp(postern);
  const { link, email } = await invited();
  const browser = openBrowser(issuer);
  await signIn(browser, await browser.open(`${issuer}/account`), stranger);
  await browser.open(link);
  const page = await browser.open(`${issuer}/invitation/organization?new=1`);
  expect(titleOf(await browser.submit(page, { ...ada, username: email }, "join"))).toBe(pageText("joined_title", "en"));
});

test("what cannot be given any more is said on the page", async () => {
  const { link, email, inside, projectId } = await invited();
  done(await postern.admin.post(`/v1/projects/${projectId}:deactivate`, {}, inside));
  const browser = openBrowser(issuer);
  const joined = await browser.submit(await browser.open(link), { ...ada, username: email }, "join");
  expect([titleOf(joined), joined.text]).toEqual([pageText("joined_title", "en"), expect.stringContaining(": viewer")]);
  expect(joined.text).toContain(pageText("not_given", "en"));
  expect(joined.text).not.toContain(pageText("role_viewer", "en"));
});

test("an inviter who may no longer invite, and a deactivated organization, are told to the guest", async () => {
  const { link, email, inside, owner, organizationId } = await invited();
  const browser = openBrowser(issuer);
  await administrator(postern, organizationId, ["ORG_OWNER"]);
  const page = await browser.open(link);
  const join = async () => alertOf(await browser.submit(page, { ...ada, username: email }, "join"));
  done(await postern.admin.delete(`/v1/members/${owner.userId}`, inside));
  expect(await join()).toBe(text("INVITER_NOT_ENTITLED", "en"));
  done(await postern.admin.post(`/v1/organizations/${organizationId}:deactivate`));
  expect(await join()).toBe(text("ORGANIZATION_INACTIVE", "en", { id: organizationId }));
});

test("opening the link answers nothing, and only the browser that opened it can", async () => {
  const { link, invitationId, inside, email } = await invited();
  const browser = openBrowser(issuer);
  for (let times = 0; times < 3; times++) await browser.open(link);
  expect((await postern.admin.get(`/v1/invitations/${invitationId}`, inside)).status).toBe(200);
  const page = await browser.open(link);
  const elsewhere = openBrowser(issuer);
  const stolen = await elsewhere.submit(page, { ...ada, username: email }, "join");
  expect(stolen.status).not.toBe(200);
  expect((await postern.admin.get(`/v1/invitations/${invitationId}`, inside)).status).toBe(200);
  const declined = await browser.submit(page, {}, "decline");
  expect(titleOf(declined)).toBe(pageText("declined_title", "en"));
  expect((await postern.admin.get(`/v1/invitations/${invitationId}`, inside)).status).toBe(404);
});

test("the code can be typed, and the page speaks four languages", async () => {
  const { link } = await invited();
  const code = new URL(link).searchParams.get("code") ?? "";
  const typed = `${code.slice(0, 4)}-${code.slice(4)}`.toLowerCase();
  for (const language of ["en", "de", "fr", "es"] as const) {
    const browser = openBrowser(issuer, { "accept-language": language });
    const asked = await browser.open(`${issuer}/invitation/organization`);
    expect(asked.text).toContain(pageText("mailed_code", language));
    const page = await browser.open(`${issuer}/invitation/organization?code=${encodeURIComponent(typed)}`);
    expect([titleOf(page), page.text]).toEqual([
      pageText("invited_title", language),
      expect.stringContaining(pageText("invited_new", language)),
    ]);
  }
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { languages } from "../../../src/messages/language.ts";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { done, refused } from "../../services/invitations/invited.ts";
import { gifts, give, giver, offer, receiver } from "../../services/invitations/received.ts";
import { issuerOf, type Person, signIn } from "../application.ts";
import { type Browser, hiddenIn, openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let url: string;
beforeAll(async () => {
  postern = await sharedPostern();
  url = `${issuerOf(postern)}/account/invitations`;
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const both = async () => {
  const [from, to] = [await giver(postern), await receiver(postern)];
  return { from, to };
};

const opened = async (person: Person, browser = openBrowser(issuerOf(postern))) => ({
  browser,
  page: await signIn(browser, url, person),
});

/** Sends the form of the page by the button of this name and value. */
async function click(browser: Browser, page: Shown, button: Readonly<Record<string, string>>): Promise<Shown> {
  const body = new URLSearchParams({ ...hiddenIn(page.text), ...button });
  const sent = await browser.send(url, { method: "POST", body, headers: { origin: issuerOf(postern) } });
  return sent.status === 303 ? browser.open(url) : sent;
}

const valuesOf = ({ text }: Shown, name: string) =>
  [...text.matchAll(new RegExp(`<button name="${name}" value="([^"]*)"`, "g"))].map(([, value]) => value ?? "");

const rolesOf = async (person: { readonly userId: string }) =>
  done(await postern.admin.get(`/v1/users/${person.userId}/roles`)).userRoles;

test("users see what other organizations offer them, and decline it after a question", async () => {
  const between = await both();
  const { from, to } = between;
  const id = await offer("a user grant", between);
  await offer("a project grant", between);
  const { browser, page } = await opened(to.person);
  const { name } = done(await from.owner.client.get(`/v1/projects/${from.projectId}`)).project;
  const { organization } = done(await from.owner.client.get("/v1/users/me"));
  expect(page.text).toContain(`<h2>${organization.name}</h2>`);
  expect(page.text).toContain(`<p>${name}: viewer</p>`);
  expect(page.text).toContain(pageText("received_decides", "en"));
  // What is for the organization is none of theirs, and neither is accepting.
  expect([valuesOf(page, "ask_decline"), valuesOf(page, "accept")]).toEqual([[id], []]);
  await click(browser, page, { accept: id });
  expect(await rolesOf(to.person)).toEqual([]);

  const question = await click(browser, page, { ask_decline: id });
  expect(question.text).toContain(pageText("received_title", "en", { organization: organization.name }));
  const after = await click(browser, question, { decline: id });
  expect([after.status, valuesOf(after, "ask_decline")]).toEqual([200, []]);
  expect(after.text).toContain(pageText("no_entries", "en"));
  expect(refused(await from.owner.client.post(...gifts["a user grant"](from, to)))).toEqual([400, "ENDED_BY_RECEIVER"]);
  // Another tab may still show it.
  expect((await click(browser, page, { ask_decline: id })).status).toBe(200);
  expect((await click(browser, page, { decline: id })).status).toBe(200);
});

test("who may decide for the organization accepts what is for them, and what fails says why", async () => {
  const between = await both();
  const { from, to } = between;
  const inside = { "x-service-orgid": to.organizationId };
  const owner = { userId: to.person.userId, roles: ["ORG_OWNER"] };
  done(await postern.admin.post("/v1/members", owner, inside));
  const end = "2099-01-01T10:00:00Z";
  const { invitationId: id } = await give(from.owner.client, "a membership of the organization", between);
  const [path, body] = gifts["a user grant"](from, to);
  const { invitationId: ending } = done(await from.owner.client.post(path, { ...body, expirationDate: end }));
  const colleague = await signedUp(postern, { organizationId: to.organizationId });
  const others = await offer("a user grant", { from, to: { ...to, person: colleague } });
  const { browser, page } = await opened(to.person);
  expect(page.text).not.toContain(pageText("received_decides", "en"));
  expect(new Set(valuesOf(page, "accept"))).toEqual(new Set([id, ending]));
  expect(page.text).toContain('<time datetime="2099-01-01T10:00:00.000Z">');
  await click(browser, page, { accept: others });
  expect(await rolesOf(colleague)).toEqual([]);
  const after = await click(browser, page, { accept: id });
  expect(valuesOf(after, "accept")).toEqual([ending]);
  expect(
    (await rolesOf(to.person)).filter(
      ({ organizationId }: { organizationId: string }) => organizationId === from.organizationId,
    ),
  ).toMatchObject([{ roles: ["ORG_VIEWER"] }]);

  done(await from.owner.client.post(`/v1/projects/${from.projectId}:deactivate`));
  const failed = await click(browser, after, { accept: ending });
  expect([failed.status, valuesOf(failed, "accept")]).toEqual([400, [ending]]);
  expect(failed.text).toMatch(/role="alert"/);
});

test("nobody declines what is for somebody else", async () => {
  const between = await both();
  const { to } = between;
  const id = await offer("a user grant", between);
  const colleague = await signedUp(postern, { organizationId: to.organizationId });
  const { browser, page } = await opened(colleague);
  await click(browser, page, { decline: id });
  const { invitations } = done(await to.owner.client.get("/v1/received-invitations"));
  expect(invitations).toMatchObject([{ id }]);
});

test.each(languages)("the page is in the language of the browser: %s", async (language) => {
  const between = await both();
  await offer("a user grant", between);
  const browser = openBrowser(issuerOf(postern), { "accept-language": language });
  const { page } = await opened(between.to.person, browser);
  for (const text of ["account_invitations", "received_decides", "decline"] as const)
    expect(page.text).toContain(pageText(text, language));
  const [before = ""] = pageText("received_until", language, { date: "\n" }).split("\n");
  expect(page.text).toContain(before);
});

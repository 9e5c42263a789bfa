import { afterAll, beforeAll, expect, test } from "vitest";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { eventually } from "../../first_start.ts";
import { withPasskey, withTotp } from "../../fixture/factors.ts";
import { latestCode, signInMails, withoutPassword } from "../../fixture/sign_in_mail.ts";
import { organization, type Postern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { ask as asked } from "../../postgres/embedded/holder.ts";
import { openProbe, type Probe } from "../../probe.ts";
import { startTwoNodes, type TwoNodes } from "../../two_nodes.ts";
import {
  type Application,
  answerIn,
  application,
  authorizeUrl,
  issuerOf,
  type Person,
  signIn,
} from "../application.ts";
import { type Browser, openBrowser, type Shown } from "../browser.ts";
import { answerPasskey } from "../passkey_page.ts";

const newPassword = "Green-Teapot-77";

let nodes: TwoNodes;
let postern: Postern;
let issuer: string;
let app: Application;
let probe: Probe;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  postern = nodes.one;
  issuer = postern.url;
  app = await application(postern.admin);
  probe = openProbe(nodes.databaseUrl);
});
afterAll(async () => {
  await probe?.[Symbol.asyncDispose]();
  await nodes?.[Symbol.asyncDispose]();
});

const cookieName = "__Host-postern-known";
const tokensOf = ({ cookies }: Browser): string[] => cookies.get(cookieName)?.split(".") ?? [];
const isIn = (page: Shown): boolean => answerIn(page).code !== undefined;

/** Signs in at the page anew; true where its user got in. */
const enters = async (browser: Browser, person: Person): Promise<boolean> => isIn(await attempt(browser, person));
const attempt = (browser: Browser, person: Pick<Person, "username" | "password">) =>
  signIn(browser, authorizeUrl(issuer, app, { prompt: "login" }), person);

/** Locks a user by ten wrong passwords of strangers, over both nodes. */
async function locked({ username }: Pick<Person, "username">): Promise<void> {
  for (let nth = 0; nth < 10; nth++)
    await nodes
      .through(nth)
      .as()
      .post("/v1/sessions", { loginName: username, password: `Wrong-Kettle-${nth}` });
  expect((await attempt(openBrowser(issuer), { username, password: "Blue-Kettle-42" })).status).toBe(429);
}

/** A browser in which a person has signed in. */
async function knownTo(person: Person, browser = openBrowser(issuer)): Promise<Browser> {
  expect(await enters(browser, person)).toBe(true);
  return browser;
}

test("a known browser signs in while strangers keep everybody else waiting", async () => {
  const person = await signedUp(postern);
  const known = await knownTo(person);
  await locked(person);
  const refused = await attempt(openBrowser(issuer), person);
  expect([refused.status, refused.text]).toEqual([429, expect.stringMatching(/in \d+ (second|minute)s?/)]);
  expect(await enters(known, person)).toBe(true);
  const elsewhere = openBrowser(nodes.two.url);
  elsewhere.cookies.set(cookieName, known.cookies.get(cookieName) ?? "");
  expect(isIn(await signIn(elsewhere, authorizeUrl(nodes.two.url, app), person))).toBe(true);
  // The guesses of strangers go on to count.
  expect((await attempt(openBrowser(issuer), person)).status).toBe(429);
  const { user } = (await postern.admin.get(`/v1/users/${person.userId}`)).body;
  expect(user.state).toBe("USER_STATE_LOCKED");
});

test("a known browser goes on through its factor during a lock, and one that is not does not", async () => {
  const person = await withTotp(postern);
  const first = openBrowser(issuer);
  expect(isIn(await first.submit(await attempt(first, person), { code: person.code(0) }, "factor"))).toBe(true);
  const stranger = openBrowser(issuer);
  const begun = await attempt(stranger, person);
  await locked(person);
  expect((await stranger.submit(begun, { code: person.code(1) }, "factor")).status).toBe(401);
  expect(isIn(await first.submit(await attempt(first, person), { code: person.code(1) }, "factor"))).toBe(true);
});

test("a browser is not known before the factor of its sign-in", async () => {
  const person = await withTotp(postern);
  const browser = openBrowser(issuer);
  const asked = await attempt(browser, person);
  expect([asked.status, tokensOf(browser)]).toEqual([200, []]);
  await browser.submit(asked, { code: "000000" }, "factor");
  expect(tokensOf(browser)).toEqual([]);
});

test("ten wrong passwords in a row make a known browser a stranger, also when they come at once", async () => {
  const [slow, quick] = [await signedUp(postern), await signedUp(postern)];
  for (const person of [slow, quick]) {
    const browser = await knownTo(person);
    await locked(person);
    const guess = () => attempt(browser, { ...person, password: "Wrong-Kettle-42" });
    const nine: Shown[] = [];
    if (person === quick) nine.push(...(await Promise.all(Array.from({ length: 9 }, guess))));
    else for (let nth = 0; nth < 9; nth++) nine.push(await guess());
    expect(nine.map(({ status }) => status)).toEqual(Array(9).fill(401));
    // A right one begins the row anew.
    expect(await enters(browser, person)).toBe(true);
    const more = await Promise.all(Array.from({ length: 20 }, guess));
    expect(more.filter(({ status }) => status === 401)).toHaveLength(10);
    expect((await attempt(browser, person)).status).toBe(429);
  }
});

test("a reset by mail lets a locked user in where the mail is read, and nowhere else", async () => {
  const person = { ...(await signedUp(postern)), password: newPassword };
  const email = `${person.username}@mail.example`;
  await postern.admin.post(`/v1/users/${person.userId}/email`, { email, isVerified: true });
  await locked(person);
  const browser = openBrowser(issuer);
  await browser.submit(await browser.open(`${issuer}/password/forgotten`), { account: email }, "send");
  const [mail] = await mailsTo(postern, email);
  const link = new URL(/^http\S+$/m.exec(mail?.text ?? "")?.[0] ?? "");
  const set = await browser.submit(
    await browser.open(issuer + link.pathname + link.search),
    { new_password: newPassword },
    "save",
  );
  expect(set.status).toBe(200);
  // Strangers lock again before the user comes to enter the new password.
  await locked(person);
  expect(await enters(browser, person)).toBe(true);
  expect((await attempt(openBrowser(issuer), person)).status).toBe(429);
});

test("a passkey lets a locked user in, and from then on the password does in that browser", async () => {
  await using own = await startTwoNodes();
  const person = await withPasskey(own.one);
  const [there, ownApp] = [issuerOf(own.one), await application(own.one.admin)];
  for (let nth = 0; nth < 10; nth++)
    await own.one.as().post("/v1/sessions", { loginName: person.username, password: "wrong" });
  const browser = openBrowser(there);
  const url = authorizeUrl(there, ownApp, { prompt: "login" });
  expect((await signIn(browser, url, person)).status).toBe(429);
  expect(isIn(await answerPasskey(browser, await browser.open(url), person.key))).toBe(true);
  const asked = await signIn(browser, url, person);
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('data-passkey="get"')]);
  expect(asked.text).not.toContain("current-password");
});

test("a new password ends what was known, however it is set", async () => {
  const change = async ({ client, password }: Awaited<ReturnType<typeof signedUp>>) =>
    client.put("/v1/users/me/password", { oldPassword: password, newPassword });
  const set = async ({ userId }: Awaited<ReturnType<typeof signedUp>>) =>
    postern.admin.put(`/v1/users/${userId}/password`, { newPassword });
  for (const replace of [change, set]) {
    const person = await signedUp(postern);
    const browser = await knownTo(person);
    expect((await replace(person)).status).toBe(200);
    await locked(person);
    expect((await attempt(browser, { ...person, password: newPassword })).status).toBe(429);
  }
});

test("several users of a browser are known by it, each by a token of its own, and to nobody else", async () => {
  const [ada, bob, eve] = [await signedUp(postern), await signedUp(postern), await signedUp(postern)];
  const browser = await knownTo(bob, await knownTo(ada));
  expect(tokensOf(browser)).toHaveLength(2);
  await knownTo(ada, browser);
  expect(new Set(tokensOf(browser)).size).toBe(2);
  for (const person of [ada, bob, eve]) await locked(person);
  expect([await enters(browser, ada), await enters(browser, bob)]).toEqual([true, true]);
  expect((await attempt(browser, eve)).status).toBe(429);
});

test("the cookie is the browser's alone, for ninety days, its token is stored as a hash, and a copy is worth nothing after the next one", async () => {
  const person = await signedUp(postern);
  const browser = openBrowser(issuer);
  const page = await browser.open(authorizeUrl(issuer, app));
  const { headers } = await browser.submit(page, { login_name: person.username, password: person.password });
  const set = headers.getSetCookie().find((one) => one.startsWith(cookieName)) ?? "";
  expect(set).toMatch(/=ok_\w{33}; Path=\/; HttpOnly; SameSite=Lax; Secure; Expires=/);
  const days = (Date.parse(/Expires=(.*)$/.exec(set)?.[1] ?? "") - Date.now()) / 86_400_000;
  expect([days > 89, days <= 90]).toEqual([true, true]);
  const [token = ""] = tokensOf(browser);
  const rows = await probe.sql`select k::text as row from known_browsers k where user_id = ${person.userId}`;
  expect(rows).toHaveLength(1);
  expect(rows[0]?.row).not.toContain(token);
  const copy = openBrowser(issuer);
  copy.cookies.set(cookieName, token);
  await knownTo(person, browser);
  await locked(person);
  expect((await attempt(copy, person)).status).toBe(429);
  expect(await enters(browser, person)).toBe(true);
});

test("of many browsers of a user the ten latest are known, and none beyond its time", async () => {
  const person = await signedUp(postern);
  const browsers: Browser[] = [];
  for (let nth = 0; nth < 11; nth++) browsers.push(await knownTo(person));
  await locked(person);
  const statuses = await Promise.all(browsers.map(async (browser) => (await attempt(browser, person)).status));
  expect(statuses).toEqual([429, ...Array(10).fill(200)]);
  await probe.sql`update known_browsers set expiration_date = now() where user_id = ${person.userId}`;
  expect((await attempt(browsers[5] as Browser, person)).status).toBe(429);
});

test("a cookie that somebody made up is nobody's, and is not taken over", async () => {
  const person = await signedUp(postern);
  const browser = openBrowser(issuer);
  const forged = `ok_${"A".repeat(33)}`;
  browser.cookies.set(cookieName, forged);
  await knownTo(person, browser);
  const copy = openBrowser(issuer);
  copy.cookies.set(cookieName, forged);
  await locked(person);
  expect((await attempt(copy, person)).status).toBe(429);
});

test("UnlockUser ends every wait that wrong passwords began, on both nodes", async () => {
  const person = await signedUp(postern);
  const change = (node: Postern, oldPassword: string) =>
    node.as(person.client.token).put("/v1/users/me/password", { oldPassword, newPassword });
  for (let nth = 0; nth < 10; nth++) await change(nodes.through(nth), "Wrong-Kettle-42");
  for (const node of [nodes.one, nodes.two]) expect((await change(node, person.password)).status).toBe(429);
  const unlock = () => postern.admin.post(`/v1/users/${person.userId}:unlock`);
  const first = (await unlock()).body.details.sequence;
  expect((await change(nodes.two, person.password)).status).toBe(200);
  await locked(person);
  const second = (await unlock()).body.details.sequence;
  expect(Number(second)).toBeGreaterThan(Number(first));
  for (const node of [nodes.one, nodes.two]) {
    const session = { loginName: person.username, password: newPassword };
    expect((await node.as().post("/v1/sessions", session)).status).toBe(200);
  }
  // With nothing to end nothing happens.
  expect((await unlock()).body.details.sequence).toBe(second);
});

test("a mail tells of a sign-in in a browser that is not known, where another one is, in the language of the page", async () => {
  const person = await signedUp(postern);
  const email = `${person.username}@mail.example`;
  const address = { email, isVerified: true };
  expect((await postern.admin.post(`/v1/users/${person.userId}/email`, address)).status).toBe(200);
  const known = await knownTo(person);
  expect(await enters(known, person)).toBe(true);
  const french = openBrowser(issuer);
  const page = authorizeUrl(issuer, app, { prompt: "login", ui_locales: "fr" });
  expect(isIn(await signIn(french, page, person))).toBe(true);
  const [mail = expect.unreachable(), ...more] = await mailsTo(postern, email);
  expect([mail.subject, more]).toEqual([mailTexts.new_device.fr.subject, []]);
  expect(mail.text).toContain("https://id.example/account/sessions\n");
  expect(await enters(french, person)).toBe(true);
  const sent = await probe.sql`select from mail_sends where user_id = ${person.userId} and purpose = 'new_device'`;
  expect(sent).toHaveLength(1);
});

test("a known browser gets a code by mail while strangers use up those of its user, who has no password", async () => {
  await using few = await startTwoNodes({
    publicUrl: "https://id.example",
    mailSendsPerUser: 2,
    mailSendsPerAddress: 2,
  });
  const { one } = few;
  const organizationId = await organization(one);
  const ada = await withoutPassword(one, { organizationId });
  const its = await application(one.admin, {}, { "x-service-orgid": organizationId });
  const ask = async (browser: Browser) => {
    const url = authorizeUrl(one.url, its, { prompt: "login" });
    return browser.submit(await browser.open(url), { login_name: ada.username }, "mail");
  };
  const home = openBrowser(one.url);
  const first = await home.submit(await ask(home), { code: await latestCode(one, ada.email) }, "code");
  expect(isIn(first)).toBe(true);

  for (let n = 0; n < 4; n++) await one.as().post("/v1/sessions/mail:start", { loginName: ada.username });
  await ask(openBrowser(one.url));
  const answered = async () => {
    const query = `/v1/events?aboutUserId=${ada.userId}&types=attempt.sign_in_code_requested&types=attempt.more`;
    const { body } = await one.admin.get(query, { "x-service-orgid": organizationId });
    return body.events.length >= 6 ? true : undefined;
  };
  await eventually(answered, "the requests without a mail");
  expect(await signInMails(one, ada.email, 0)).toHaveLength(2);

  const page = await ask(home);
  const code = await latestCode(one, ada.email, 3);
  expect(isIn(await home.submit(page, { code }, "code"))).toBe(true);
  // Its own mails are limited, too.
  await ask(home);
  await ask(home);
  await latestCode(one, ada.email, 4);
  await eventually(async () => {
    const waiting = await asked(few.databaseUrl, "select from password_reset_requests");
    return waiting.length === 0 ? true : undefined;
  }, "all requests to be answered");
  expect(await signInMails(one, ada.email, 0)).toHaveLength(4);
});

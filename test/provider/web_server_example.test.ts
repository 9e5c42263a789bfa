import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, signedUp, startPostern } from "../harness.ts";
import { issuerOf, type Person, signIn } from "./application.ts";
import { type Browser, openBrowser, type Shown } from "./browser.ts";
import { type ExampleServer, startExample } from "./example_server.ts";

let postern: Postern;
let app: ExampleServer;
let person: Person;
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  // Each page refreshes a token that is in its last minute.
  postern = opened.use(await startPostern({ oauthTokenLifetimeSeconds: 60 }));
  app = opened.use(await startExample(postern, "web-server"));
  person = await signedUp(postern);
});
afterAll(() => opened.disposeAsync());

const home = (browser: Browser) => browser.open(`${app.origin}/`);
const signedInAs = (roles: string) => expect.stringContaining(`Signed in as ${person.username}, roles: ${roles}<`);
const anonymous = expect.stringContaining('<a href="/sign-in">Sign in</a>');

/** Signs in at the application; answers the browser, and what the application answered to the code. */
async function signedIn(browser = openBrowser(issuerOf(postern))) {
  const back = await signIn(browser, `${app.origin}/sign-in`, person);
  expect([back.status, back.url]).toEqual([200, expect.stringContaining(`${app.origin}/callback?code=`)]);
  return { browser, back, answer: await browser.send(back.url) };
}

const leadsTo = ({ status, headers }: Shown) => [status, headers.get("location")];
const signOut = (browser: Browser) => browser.send(`${app.origin}/sign-out`, { method: "POST" });

test("the example of a web server signs in, and shows a role as soon as its user has it", async () => {
  const { browser, answer } = await signedIn();
  expect(leadsTo(answer)).toEqual([303, "/"]);
  expect(answer.headers.getSetCookie()).toEqual([
    "sign-in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0",
    expect.stringMatching(/^session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/),
  ]);
  expect((await home(browser)).text).toEqual(signedInAs("none"));
  const granted = { projectId: app.projectId, roleKeys: ["editor"] };
  expect((await postern.admin.post(`/v1/users/${person.userId}/grants`, granted)).status).toBe(200);
  for (let n = 0; n < 2; n++) expect((await home(browser)).text).toEqual(signedInAs("editor"));
});

test("it signs out at Postern too, which leads back to it", async () => {
  const { browser } = await signedIn();
  const { headers } = await signOut(browser);
  const left = await browser.open(headers.get("location") ?? "");
  expect([left.status, left.url]).toEqual([303, `${app.origin}/`]);
  expect((await home(browser)).text).toEqual(anonymous);
  const again = await browser.open(`${app.origin}/sign-in`);
  expect([again.status, again.text]).toEqual([200, expect.stringContaining('name="password"')]);
  expect(leadsTo(await signOut(browser))).toEqual([303, "/"]);
});

test.each([
  ["when it refreshes", 60],
  ["when it asks userinfo", 600],
])("it signs its user out once the sign-in has ended at Postern: it learns so %s", async (_, lifetime) => {
  await using there = await startPostern({ oauthTokenLifetimeSeconds: lifetime });
  await using app = await startExample(there, "web-server");
  const { userId, ...person } = await signedUp(there);
  const browser = openBrowser(issuerOf(there));
  await browser.send((await signIn(browser, `${app.origin}/sign-in`, person)).url);
  expect((await browser.open(app.origin)).text).toContain("Signed in as");
  expect((await there.admin.delete(`/v1/users/${userId}/sessions`)).status).toBe(200);
  expect((await browser.open(app.origin)).text).toEqual(anonymous);
});

test("it takes no code that another browser began, none twice, and says so when Postern refuses", async () => {
  const { browser, back } = await signedIn();
  const stranger = openBrowser(issuerOf(postern));
  expect((await stranger.send(back.url)).text).toContain("This sign-in began in another browser, or has ended.");
  const other = openBrowser(issuerOf(postern));
  await other.open(`${app.origin}/sign-in`);
  expect((await other.send(back.url)).status).toBe(400);
  expect(other.cookies.has("session")).toBe(false);
  expect((await browser.send(back.url)).status).toBe(400);
  await browser.open(`${app.origin}/sign-in`);
  expect((await home(browser)).text).toContain("Signed in as");
});

test("it has no other page, and no text of a request becomes HTML", async () => {
  const browser = openBrowser(issuerOf(postern));
  expect((await browser.send(`${app.origin}/nothing`)).status).toBe(404);
  await browser.open(`${app.origin}/sign-in`);
  const { state } = JSON.parse(Buffer.from(browser.cookies.get("sign-in") ?? "", "base64url").toString());
  const problem = { state, iss: issuerOf(postern), error: "<script>", error_description: "<script>" };
  const page = await browser.send(`${app.origin}/callback?${new URLSearchParams(problem)}`);
  expect([page.status, page.text]).toEqual([400, expect.not.stringContaining("<script>")]);
});

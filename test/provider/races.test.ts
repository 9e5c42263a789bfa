import { afterAll, beforeAll, expect, test } from "vitest";
import { withTotp } from "../fixture/factors.ts";
import { signedUp } from "../harness.ts";
import { startTwoNodes, type TwoNodes } from "../two_nodes.ts";
import { type Application, answerIn, application, authorizeUrl, exchange, type Person, signIn } from "./application.ts";
import { openBrowser } from "./browser.ts";

let nodes: TwoNodes;
let app: Application;
beforeAll(async () => {
  nodes = await startTwoNodes({ publicUrl: "https://id.example" });
  app = await application(nodes.one.admin);
});
afterAll(() => nodes?.[Symbol.asyncDispose]());

const ten = Array.from({ length: 10 }, (_, n) => n);

/** Ten browsers at the two nodes in turn, each with the page that it was shown first. */
const browsers = (show: (browser: ReturnType<typeof openBrowser>, url: string) => ReturnType<typeof signIn>) =>
  Promise.all(
    ten.map(async (n) => {
      const { url } = nodes.through(n);
      const browser = openBrowser(url);
      return { browser, page: await show(browser, authorizeUrl(url, app)), nth: n };
    }),
  );

test("of ten new passwords at once, at the pages of two nodes, one counts, and the others are wrong", async () => {
  const { username, password }: Person = await signedUp(nodes.one);
  const all = await browsers((browser, url) => browser.open(url));
  const values = { login_name: username, password };
  const shown = await Promise.all(
    all.map(({ browser, page, nth }) => browser.submit(page, { ...values, new_password: `Green-Teapot-${nth}` })),
  );
  expect(shown.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(401)]);
  const won = shown.findIndex(({ status }) => status === 303);
  const again = await signIn(openBrowser(nodes.two.url), authorizeUrl(nodes.two.url, app), {
    username,
    password: `Green-Teapot-${won}`,
  });
  expect(answerIn(again).code).toEqual(expect.any(String));
});

test("of ten sign-ins at once with one code of an app, at the pages of two nodes, one ends well", async () => {
  const person = await withTotp(nodes.one);
  const all = await browsers((browser, url) => signIn(browser, url, person));
  const code = person.code(0);
  const shown = await Promise.all(all.map(({ browser, page }) => browser.submit(page, { code }, "factor")));
  const statuses = shown.map(({ status }) => status);
  expect(statuses.filter((status) => status === 303)).toEqual([303]);
  // The others are wrong, or too many.
  expect(statuses.filter((status) => ![303, 401, 429].includes(status))).toEqual([]);
});

test("three recovery codes at once sign in three times", async () => {
  const person = await withTotp(nodes.one);
  const { codes } = (await person.client.post("/v1/users/me/factors:generateRecoveryCodes")).body;
  const all = await browsers((browser, url) => signIn(browser, url, person));
  const shown = await Promise.all(
    all.slice(0, 3).map(({ browser, page, nth }) => browser.submit(page, { code: codes[nth] }, "factor")),
  );
  expect(shown.map(({ status }) => status)).toEqual([303, 303, 303]);
  for (const [n, one] of shown.entries())
    expect((await exchange(nodes.through(n + 1).url, app, answerIn(one).code ?? "")).status).toBe(200);
});

test("of ten answers at once to one sign-in that waits for a factor, one begins a session", async () => {
  const person = await withTotp(nodes.one);
  const { codes } = (await person.client.post("/v1/users/me/factors:generateRecoveryCodes")).body;
  const { url } = nodes.one;
  const browser = openBrowser(url);
  const page = await signIn(browser, authorizeUrl(url, app), person);
  const shown = await Promise.all(
    codes.slice(0, 4).map((code: string) => openBrowserWith(browser.cookies).submit(page, { code }, "factor")),
  );
  const statuses = shown.map(({ status }) => status);
  expect(statuses.filter((status) => status === 303)).toEqual([303]);
  expect(statuses.filter((status) => ![303, 401, 429].includes(status))).toEqual([]);
});

function openBrowserWith(cookies: ReadonlyMap<string, string>) {
  const browser = openBrowser(nodes.two.url);
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  return browser;
}

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLogger } from "../../src/config/logger.ts";
import { firstLink } from "../../src/maintenance/administrator_link.ts";
import { howToBegin } from "../../src/maintenance/first_calls.ts";
import { recover } from "../../src/maintenance/recover.ts";
import { pageText } from "../../src/messages/page.ts";
import { openRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { openClient } from "../fixture/database_client.ts";
import { type Answer, machine, type Postern, startPostern } from "../harness.ts";
import { openBrowser } from "../provider/browser.ts";

const done = ({ status, body }: Answer) => {
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
};
const fresh = "Green-Teapot-43";

/** A first start, with what the command line needs, and the link that it printed. */
async function firstStart(settings: Parameters<typeof startPostern>[0] = {}) {
  await using opened = new AsyncDisposableStack();
  const postern = opened.use(await startPostern(settings));
  const options = { logger: createLogger(postern.config), join: true };
  const runtime = opened.use(await openRuntime(postern.config, options));
  const port = Number(new URL(postern.url).port);
  const link = (await firstLink(runtime, { ...postern.config, port })) ?? "";
  const file = join(postern.config.dataDir, "admin-password");
  const stack = opened.move();
  return { postern, runtime, port, link, file, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const signsIn = async ({ as }: Postern, password: string) =>
  (await as().post("/v1/sessions", { loginName: "admin", password })).status === 200;
const isGone = (file: string) => expect.poll(() => existsSync(file)).toBe(false);
const lines = (runtime: Runtime, { config, url }: Postern) => howToBegin(runtime, config, { url, curl: [] });
const forwarded = { "x-forwarded-for": "203.0.113.7" };

test("the link of the first start signs the administrator in, once, and ends the password of the file and the file", async () => {
  await using start = await firstStart();
  const { postern, runtime, link, file } = start;
  expect(link).toMatch(/^http:\/\/localhost:\d+\/first-run\?code=\w{16}$/);
  const first = (await readFile(file, "utf8")).trim();
  const browser = openBrowser(postern.url);
  for (const _ of [1, 2]) expect((await browser.open(link)).text).toContain('name="new_password"');
  expect(await signsIn(postern, first)).toBe(true);
  const weak = await browser.submit(await browser.open(link), { new_password: "short" }, "save");
  expect([weak.status, weak.text]).toEqual([400, expect.stringContaining('name="new_password"')]);
  const shown = await browser.submit(weak, { new_password: fresh }, "save");
  expect([shown.status, new URL(shown.url).pathname]).toEqual([200, "/console/"]);
  expect([await signsIn(postern, first), await signsIn(postern, fresh)]).toEqual([false, true]);
  await isGone(file);
  // The token of the calls to try goes on.
  done(await postern.admin.get("/v1/users/me"));
  const again = openBrowser(postern.url);
  const over = await again.submit(await again.open(link), { new_password: "Other-Teapot-44" }, "save");
  expect([over.status, over.text]).toEqual([400, expect.stringContaining(pageText("first_run_over", "en"))]);
  // The browser forgets a code that does nothing, so that its page does not ask for a password again.
  expect((await again.open(link.replace(/\?.*/, ""))).text).not.toContain('name="new_password"');
  expect((await lines(runtime, postern))[0]).toMatch(/read -r OLD_PASSWORD.*\n.*read -r NEW_PASSWORD/);
});

test("nobody learns the link from the database or the log, and it works on no other page and in no call", async () => {
  await using start = await firstStart();
  const { postern, link } = start;
  const code = new URL(link).searchParams.get("code") ?? "";
  await using database = openClient(postern.databaseUrl);
  const rows = await database.client.unsafe("select c::text from mail_codes c union all select e::text from events e");
  expect(rows.length).toBeGreaterThan(3);
  expect(JSON.stringify(rows)).not.toContain(code);
  const reset = { verificationCode: code, newPassword: fresh };
  expect((await postern.as().post("/v1/password-resets:complete", reset)).status).toBe(400);
  const browser = openBrowser(postern.url);
  const page = await browser.open(`${postern.url}/password?code=${code}`);
  expect((await browser.submit(page, { new_password: fresh }, "save")).status).toBe(400);
  expect(await signsIn(postern, fresh)).toBe(false);
});

test("the link of the first start works on the machine itself only, and the page names another way", async () => {
  await using start = await firstStart();
  const { postern, link, file } = start;
  const remote = openBrowser(postern.url, forwarded);
  const browser = openBrowser(postern.url);
  const page = await browser.open(link);
  for (const [name, value] of browser.cookies) remote.cookies.set(name, value);
  const refused = await remote.submit(page, { new_password: fresh }, "save");
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(pageText("first_run_elsewhere", "en"))]);
  expect([await signsIn(postern, fresh), existsSync(file)]).toEqual([false, true]);
  // It was not used up.
  expect((await browser.submit(page, { new_password: fresh }, "save")).status).toBe(200);
});

test("after ten minutes the link is over", async () => {
  await using start = await firstStart();
  const { postern, link } = start;
  await using database = openClient(postern.databaseUrl);
  // The instance was begun when the run began, and has the link of that start, too.
  const [row] = await database.client.unsafe<{ seconds: number }[]>(
    "select extract(epoch from max(expiration_date) - now())::float8 as seconds from mail_codes where purpose = 'first_run'",
  );
  expect(row?.seconds).toBeGreaterThan(500);
  expect(row?.seconds).toBeLessThanOrEqual(600);
  await database.client.unsafe("update mail_codes set expiration_date = now()");
  const browser = openBrowser(postern.url);
  expect((await browser.submit(await browser.open(link), { new_password: fresh }, "save")).status).toBe(400);
});

test("in place of a password the administrator may go on to a passkey, and then has no password", async () => {
  await using start = await firstStart();
  const { postern, runtime, link, file } = start;
  const first = (await readFile(file, "utf8")).trim();
  const browser = openBrowser(postern.url);
  const shown = await browser.submit(await browser.open(link), {}, "passkey");
  expect([shown.status, new URL(shown.url).pathname]).toEqual([200, "/account/factors/add"]);
  expect(await signsIn(postern, first)).toBe(false);
  await isGone(file);
  const [password] = await lines(runtime, postern);
  expect(password).toMatch(/^# 1\. .*: the user has no password; to set \$NEW_PASSWORD:\n# curl /);
  const { events } = done(await postern.admin.get("/v1/events?types=user.password_removed"));
  expect(events).toHaveLength(1);
});

test("where a policy requires a factor, the password is set, and a sign-in with it leads to the factor", async () => {
  await using start = await firstStart({ portServes: [] });
  const { postern, link } = start;
  const policy = { requirement: "FACTOR_REQUIREMENT_REQUIRED_FOR_ADMINISTRATORS" };
  done(await postern.admin.put("/v1/policies/factor", { policy }));
  const browser = openBrowser(postern.url);
  const asked = await browser.submit(await browser.open(link), {}, "passkey");
  expect([asked.status, asked.text]).toEqual([400, expect.stringContaining(pageText("first_run_factor", "en"))]);
  const shown = await browser.submit(asked, { new_password: fresh }, "save");
  expect(shown.text).toContain('name="login_name"');
  expect(await signsIn(postern, fresh)).toBe(true);
});

test("the link of recover works from anywhere, and a machine gets none", async () => {
  await using start = await firstStart({ portServes: [] });
  const { postern, port } = start;
  const config = { ...postern.config, port };
  const { token: link, lines: said } = await recover(config, { link: true });
  expect(said.at(-1)).toMatch(/^made a link that signs the user in once, within ten minutes/);
  const browser = openBrowser(`http://localhost:${port}`, forwarded);
  const shown = await browser.submit(await browser.open(link), { new_password: fresh }, "save");
  expect([shown.status, new URL(shown.url).pathname]).toEqual([200, "/account"]);
  expect(await signsIn(postern, fresh)).toBe(true);
  const { username } = await machine(postern);
  await expect(recover(config, { wanted: username, link: true })).rejects.toThrow("is a machine");
});

test("a start whose pages are at another address prints no link", async () => {
  await using start = await firstStart({ publicUrl: "https://identity.example.com" });
  expect(start.link).toBe("");
  const { token } = await recover(start.postern.config, { link: true });
  expect(token).toMatch(/^https:\/\/identity\.example\.com\/first-run\?code=/);
});

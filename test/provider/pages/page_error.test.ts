import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { languages } from "../../../src/messages/language.ts";
import { pageText } from "../../../src/messages/page.ts";
import { clientOptions, driverUrl } from "../../../src/postgres/pool/connect.ts";
import { type Postern, signedUp, startPostern } from "../../harness.ts";
import { ask, quiet } from "../../postgres/embedded/holder.ts";
import { type Application, application, authorizeUrl, issuerOf } from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";
import { beginDevice, deviceApplication, problemOf, titleOf, untilConfirmation } from "../device_flow.ts";

let postern: Postern;
let issuer: string;
let app: Application;
beforeAll(async () => {
  postern = await startPostern({ databaseStatementTimeoutMs: 5_000 });
  issuer = issuerOf(postern);
  app = await application(postern.admin);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

/** What happens while a table is missing, which nobody who visits a page can have caused. */
async function without<T>(table: string, work: () => Promise<T>): Promise<T> {
  await ask(postern.databaseUrl, `alter table ${table} rename to away`);
  return work().finally(() => ask(postern.databaseUrl, `alter table away rename to ${table}`));
}

/** Locks a table until the end. */
async function locked(url: string, table: string): Promise<AsyncDisposable> {
  const gate = postgres(driverUrl(url), { ...clientOptions(url, quiet), max: 1 });
  await gate.unsafe(`begin; lock table ${table} in access exclusive mode`);
  return { [Symbol.asyncDispose]: () => gate.end() };
}

const buttonOf = ({ text }: Shown) => {
  const [, href, says] = /<a class="button" href="([^"]*)">([^<]*)/.exec(text) ?? [];
  return [href?.replaceAll("&amp;", "&"), says];
};

test("a failure of ours is shown as one on every page, with a button that opens the page again", async () => {
  const paths = [authorizeUrl(issuer, app).slice(issuer.length), "/account", "/device", "/password"];
  for (const [at, language] of languages.entries()) {
    const path = paths[at] ?? "";
    const open = () => openBrowser(issuer).open(issuer + path, { "accept-language": language });
    const failed = await without("instance", open);
    expect([path, ...titleOf(failed)]).toEqual([path, 503, pageText("busy_title", language)]);
    expect(buttonOf(failed)).toEqual([path, pageText("try_again", language)]);
    expect(failed.text).toContain(pageText("busy", language));
    expect(failed.text).not.toContain(pageText("error_help", language));
    expect([problemOf(failed), (await open()).status]).toEqual([[503, "busy"], 200]);
  }
});

test("whoever has sent a form to which we failed to respond reads how to send it again", async () => {
  const { username: login_name, password } = await signedUp(postern);
  const browser = openBrowser(issuer);
  const form = await browser.open(authorizeUrl(issuer, app));
  const failed = await without("applications", () => browser.submit(form, { login_name, password }));
  expect(titleOf(failed)).toEqual([503, pageText("busy_title", "en")]);
  expect([failed.text, buttonOf(failed)]).toEqual([
    expect.stringContaining(pageText("busy_form", "en")),
    [undefined, undefined],
  ]);
});

test("whoever signs a device in when we fail can begin again at once", async () => {
  const codes = await beginDevice(issuer, await deviceApplication(postern.admin));
  const { browser, page } = await untilConfirmation(issuer, codes, await signedUp(postern));
  const failed = await without("sign_ons", () => browser.submit(page, {}, "continue"));
  expect(titleOf(failed)).toEqual([503, pageText("busy_title", "en")]);
  expect(buttonOf(failed)).toEqual(["/device", pageText("begin_again", "en")]);
});

test("an error page asks for a branding, but not of a database that does not answer", async () => {
  const productName = "Harbour Cloud";
  const branding = await postern.admin.put("/v1/branding", { instance: true, branding: { productName } });
  expect(branding.status).toBe(200);
  const open = () => openBrowser(issuer).open(authorizeUrl(issuer, app));
  const failed = await without("applications", open);
  await using _ = await locked(postern.databaseUrl, "applications");
  const silent = await open();
  expect([failed, silent].map(({ status, text }) => [status, text.includes(productName)])).toEqual([
    [503, true],
    [503, false],
  ]);
});

test("a node with too many requests refuses a browser with a page, and other clients in their own way", async () => {
  await using full = await startPostern({ callsMax: 4 });
  const path = `/oauth/authorize?client_id=${app.clientId}`;
  const open = (accept: string) => fetch(issuerOf(full) + path, { headers: { accept, "accept-language": "es" } });
  await using _ = await locked(full.databaseUrl, "applications");
  const refusedOf = async (accept: string): Promise<Response> =>
    Promise.any(
      Array.from({ length: 5 }, async () => {
        const answer = await open(accept);
        return answer.status === 429 ? answer : Promise.reject(new Error(`${answer.status}`));
      }),
    );
  const page = await refusedOf("text/html");
  expect([page.headers.get("retry-after"), page.headers.get("content-type")]).toEqual([
    "1",
    "text/html; charset=utf-8",
  ]);
  const text = await page.text();
  expect(text).toContain(`<h1>${pageText("busy_title", "es")}</h1>`);
  expect(text).toContain(`<a class="button" href="${path}">${pageText("try_again", "es")}</a>`);
  expect(await (await refusedOf("*/*")).text()).toContain('"OVERLOADED"');
});

import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mailTexts } from "../../../src/messages/mail_texts.ts";
import { pageText } from "../../../src/messages/page.ts";
import { queryMaxLength } from "../../../src/provider/http/parameters.ts";
import { withTotp } from "../../fixture/factors.ts";
import { type Postern, sharedPostern, signedUp } from "../../harness.ts";
import { mailsTo } from "../../notify/mail_log.ts";
import { application, authorizeUrl, issuerOf, signIn } from "../application.ts";
import { openBrowser, type Shown } from "../browser.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await sharedPostern();
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const languageOf = ({ text }: Shown) => /<html lang="([^"]*)">/.exec(text)?.[1];

/** The language switch of a page: the language that it says is shown, and the links to the others. */
function switchOf({ text }: Shown) {
  const shown = /<span aria-current="true">([^<]*)<\/span>/.exec(text)?.[1];
  const links = [...text.matchAll(/<a href="([^"]*)" lang="(\w+)" hreflang="\2">/g)].map(
    ([, href = "", language = ""]) => [language, href.replaceAll("&amp;", "&")] as const,
  );
  return { shown, links: Object.fromEntries(links) as Record<string, string> };
}

test("a language that is picked on a page goes before those of the application and of the browser, and stays", async () => {
  const [app, ada, browser] = [await application(postern.admin), await signedUp(postern), openBrowser(issuer)];
  const url = authorizeUrl(issuer, app, { ui_locales: "es" });
  const german = { "accept-language": "de" };
  const form = await browser.open(url, german);
  const { shown, links } = switchOf(form);
  expect([languageOf(form), shown, Object.keys(links)]).toEqual(["es", "Español", ["en", "de", "fr"]]);
  const sent = await browser.send(issuer + links.fr);
  expect([sent.status, issuer + sent.headers.get("location")]).toEqual([303, url]);
  expect(sent.headers.get("set-cookie")).toMatch(
    /^postern-language=fr; Path=\/; HttpOnly; SameSite=Lax; Expires=\w{3}, /,
  );
  const french = await browser.open(url, german);
  expect([languageOf(french), switchOf(french).shown]).toEqual(["fr", "Français"]);
  const wrong = await browser.submit(french, { login_name: ada.username, password: "wrong" });
  expect([languageOf(wrong), wrong.status]).toEqual(["fr", 401]);
  expect(languageOf(await browser.open(issuer + switchOf(wrong).links.en))).toBe("en");
  const home = await signIn(browser, `${issuer}/account`, ada);
  expect([home.url, languageOf(home)]).toEqual([`${issuer}/account`, "en"]);
  for (const path of ["/nowhere", "/oauth/authorize?client_id=none"])
    expect(languageOf(await browser.open(issuer + path, { ...german, accept: "text/html" }))).toBe("en");
});

test("every page that can be opened again has the switch, and no other: codes are shown once, and what is done stays done", async () => {
  const [app, ben, browser] = [await application(postern.admin), await withTotp(postern), openBrowser(issuer)];
  const reopened = async (name: string, page: Shown) => {
    const again = await browser.open(issuer + switchOf(page).links.de);
    expect([name, again.status < 500, languageOf(again)]).toEqual([name, true, "de"]);
    await browser.open(issuer + switchOf(again).links.en);
  };
  await reopened("form", await browser.open(authorizeUrl(issuer, app)));
  const factor = await signIn(browser, `${issuer}/account/factors`, ben);
  await reopened("factor", factor);
  const factors = await browser.submit(factor, { code: ben.code() }, "factor");
  const asked = await browser.submit(factors, {}, "ask_remove");
  const open = (path: string) => browser.open(issuer + path);
  const left = await open("/oauth/end-session");
  const opened = { factors, asked, left, add: await open("/account/factors/add") };
  const others = {
    device: await open("/device"),
    mail: await open("/password"),
    error: await open("/oauth/authorize"),
  };
  for (const [name, page] of Object.entries({ ...opened, ...others })) await reopened(name, page);
  const codes = await browser.submit(factors, {}, "codes");
  expect(codes.text).toContain(pageText("codes_title", "en"));
  const stayed = await browser.submit(left, {}, "cancel");
  const out = await browser.submit(await open("/account"), {}, "sign_out");
  for (const page of [codes, stayed, out]) expect([page.status, page.text.includes("hreflang")]).toEqual([200, false]);
});

test("mails that a page sends are in the language that was picked", async () => {
  const [ada, browser] = [await signedUp(postern), openBrowser(issuer)];
  const page = await signIn(browser, `${issuer}/account/email`, ada);
  const german = await browser.open(issuer + switchOf(page).links.de);
  await browser.submit(german, {}, "send");
  const [mail] = await mailsTo(postern, `${ada.username}@example.com`, 1);
  expect(mail?.text).toContain(mailTexts.verify_email.de.before);
});

test("a link of the switch leads nowhere but to its page, and a language that is not ours changes nothing", async () => {
  const browser = openBrowser(issuer);
  const to = async (path: string) => {
    const { status, headers } = await browser.send(issuer + path);
    return [status, headers.get("location"), headers.getSetCookie().filter((set) => set.includes("language")).length];
  };
  expect(await to("/device?page_language=de&user_code=%22%3E&page_language=fr")).toEqual([
    303,
    "/device?user_code=%22%3E",
    1,
  ]);
  // However its name is written, the parameter is gone then: otherwise the page would lead to itself without end.
  expect(await to("/device?page%5Flanguage=de&user_code=A")).toEqual([303, "/device?user_code=A", 1]);
  for (const wrong of ["xx", "", "de%0d%0aset-cookie:x=y", "__proto__"])
    expect(await to(`/device?page_language=${wrong}`)).toEqual([200, null, 0]);
  browser.cookies.set("postern-language", "xx");
  expect(languageOf(await browser.open(`${issuer}/device`, { "accept-language": "fr" }))).toBe("fr");
  const long = await browser.open(`${issuer}/oauth/authorize?state=${"x".repeat(queryMaxLength)}`);
  expect([long.status, long.text.includes("hreflang")]).toEqual([400, false]);
});

test("a page is not much larger than its address, whatever HTML and forms make of that: a long one has no switch", async () => {
  const app = await application(postern.admin);
  const asked = authorizeUrl(issuer, app).slice(issuer.length);
  const longest = queryMaxLength - asked.length;
  for (const [path, wanted] of [
    [`/oauth/authorize?${"&".repeat(queryMaxLength)}`, 400],
    [`/account?${"a&".repeat(queryMaxLength / 2)}`, 400],
    [`${asked}&x=${"x".repeat(longest)}`, 200],
    [`${asked}&x=${`"`.repeat(longest)}`, 400],
    [`${asked}&x=${`"`.repeat(longest / 2 - 50)}`, 200],
  ] as const) {
    const { status, size } = await sizeOf(path);
    expect([path.slice(0, 20), status, size < 65_536]).toEqual([path.slice(0, 20), wanted, true]);
  }
  const switched = await openBrowser(issuer).open(authorizeUrl(issuer, app, { x: "x".repeat(3_000) }));
  expect(Object.keys(switchOf(switched).links)).toEqual(["de", "fr", "es"]);
});

/** Asks for a page by a path as it is, which fetch would escape. */
function sizeOf(path: string): Promise<{ readonly status: number; readonly size: number }> {
  const headers = { host: new URL(issuer).host, accept: "text/html" };
  return new Promise((resolve, reject) => {
    const asked = request(postern.url, { path, headers }, async (answer) => {
      const parts = await answer.toArray();
      resolve({ status: answer.statusCode ?? 0, size: Buffer.concat(parts).length });
    });
    asked.on("error", reject).end();
  });
}

import { afterAll, beforeAll, expect, test } from "vitest";
import { pageText } from "../../../src/messages/page.ts";
import { type Postern, sharedPostern } from "../../harness.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const html = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

const open = (path: string, headers: Readonly<Record<string, string>> = { accept: html }, method = "GET") =>
  fetch(postern.url + path, { method, headers });

const unknown = ["/nowhere", "/v1/nowhere/at/all", "/docs/Nothing/Here", "/account/nothing", "/index.php"];
const forms = ["/sign-out", "/oauth/token", "/oauth/revoke", "/oauth/device"];

test.each(unknown)("a person at %s, where nothing is, reads so on a page", async (path) => {
  const answer = await open(path);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const page = await answer.text();
  expect(page).toContain(pageText("lost_path", "en"));
  expect(page).not.toContain(path);
});

test.each(forms)("a person who opens %s, which takes forms, reads so on a page", async (path) => {
  const answer = await open(path);
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, expect.stringContaining("POST")]);
  expect(await answer.text()).toContain(pageText("lost_form", "en"));
});

test("the page speaks the language of the browser, and HEAD has its headers", async () => {
  const german = await open("/nowhere", { accept: html, "accept-language": "de" });
  const page = await german.text();
  expect(page).toContain('<html lang="de">');
  expect(page).toContain(`<h1>${pageText("lost", "de")}</h1>`);
  const head = await open("/nowhere", { accept: html }, "HEAD");
  expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([
    404,
    "text/html; charset=utf-8",
    "",
  ]);
});

test("clients of JSON, and forms, get JSON as before", async () => {
  for (const path of [...unknown, ...forms])
    for (const headers of [{ accept: "*/*" }, { accept: "application/json" }, { accept: "text/html;q=0, */*" }]) {
      const answer = await open(path, headers);
      expect([answer.headers.get("content-type"), await answer.json()]).toEqual([
        "application/json",
        expect.objectContaining({ code: expect.any(Number) }),
      ]);
    }
  const posted = await open("/nowhere", { accept: html }, "POST");
  expect([posted.status, posted.headers.get("content-type")]).toEqual([404, "application/json"]);
  const call = await open("/v1/users/me");
  expect([call.status, call.headers.get("content-type")]).toEqual([401, "application/json"]);
});

test("a browser that asks for an icon is told that there is none, and asks no more for a day", async () => {
  const icon = await open("/favicon.ico", { accept: "image/avif,image/webp,*/*" });
  expect([icon.status, icon.headers.get("cache-control"), await icon.text()]).toEqual([
    204,
    "public, max-age=86400",
    "",
  ]);
});

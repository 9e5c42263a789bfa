import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { issuerOf } from "../provider/application.ts";
import { connectHttp1 } from "../wire/http1.ts";

let postern: Postern;
let issuer: string;
beforeAll(async () => {
  postern = await startPostern({});
  issuer = issuerOf(postern);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

const get = (path: string, init: RequestInit = {}) => fetch(issuer + path, { redirect: "manual", ...init });

/** A response as it was sent: fetch would resolve dots and decompress. */
async function raw(path: string, encoding: string) {
  using client = connectHttp1(issuer);
  const headers = { "accept-encoding": encoding };
  return await client.send({ method: "GET", path, headers, body: new Uint8Array() });
}

/** The paths of the files that the page loads. */
async function assets(): Promise<readonly string[]> {
  const text = await (await get("/console/")).text();
  return [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "trusted-types 'none'; require-trusted-types-for 'script'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

test("the page is served at every path below that names no file, with nothing inline, in no frame, and never from a cache unasked", async () => {
  for (const path of ["/console/", "/console/users", "/console/projects/1/applications", "/console/%2e%2e%2fetc"]) {
    const page = await get(path);
    const text = await page.text();
    expect([path, page.status, page.headers.get("content-type")]).toEqual([path, 200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toBe(policy);
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(page.headers.get("cache-control")).toBe("no-cache");
    expect(text).toContain(`data-issuer="${issuer}" data-version="0.1.0"`);
    expect(text).not.toMatch(/<style|style="|<script(?![^>]*src=)| on\w+="/);
  }
  const bare = await get("/console");
  expect([bare.status, bare.headers.get("location")]).toEqual([308, "/console/"]);
});

test("its files are the same in every encoding, and kept for good", async () => {
  const paths = await assets();
  expect(paths.length).toBeGreaterThanOrEqual(2);
  for (const path of paths) {
    const plain = await raw(path, "identity");
    expect(plain.headers["content-encoding"]).toBe(undefined);
    expect(brotliDecompressSync((await raw(path, "gzip, br")).body)).toEqual(plain.body);
    expect(gunzipSync((await raw(path, "gzip, br;q=0")).body)).toEqual(plain.body);
    expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect(plain.headers.vary).toBe("accept-encoding");
    expect(plain.headers["content-type"]).toMatch(/^text\/(javascript|css); charset=utf-8$/);
  }
});

test("HEAD and If-None-Match are answered without a body", async () => {
  for (const path of ["/console/", ...(await assets())]) {
    const head = await get(path, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const etag = head.headers.get("etag") ?? expect.unreachable();
    const again = await get(path, { headers: { "if-none-match": `"x", W/${etag}` } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await get(path, { headers: { "if-none-match": '"x"' } })).status).toBe(200);
    expect((await get(path, { method: "POST" })).status).toBe(405);
  }
});

test.each([
  ["/console/assets/none.js"],
  ["/console/assets/"],
  ["/console/assets/console.js.br"],
  ["/console/assets/../index.html"],
  ["/console/assets/..%2f..%2fbuild.ts"],
  ["/console/assets/%2e%2e/%2e%2e/package.json"],
  ["/console/assets/../../../../etc/passwd"],
  ["/console/index.html"],
  ["/console/build.ts"],
  ["/console/..\\package.json"],
  ["/console/assets/constructor"],
])("there is nothing at %s", async (path) => {
  const { status, body } = await raw(path, "identity");
  expect(status).toBe(404);
  expect(body.toString()).not.toContain("postern/console");
});

test("another name of the machine leads to the issuer, where its cookies are", async () => {
  const { port } = new URL(issuer);
  const there = await fetch(`http://127.0.0.1:${port}/console/users?a=1`, { redirect: "manual" });
  expect([there.status, there.headers.get("location")]).toEqual([303, `${issuer}/console/users?a=1`]);
});

test("where nobody can sign in, the page says so, because it gets no issuer", async () => {
  await using plain = await startPostern({ publicUrl: "http://id.example" });
  const text = await (await fetch(`${plain.url}/console/`)).text();
  expect(text).toContain('data-issuer=""');
});

test("without the word console in PORT_SERVES there is nothing", async () => {
  await using off = await startPostern({ portServes: ["docs"] });
  for (const path of ["/console", "/console/", "/console/users", ...(await assets())])
    expect([path, (await fetch(off.url + path, { redirect: "manual" })).status]).toEqual([path, 404]);
});

test("every page of the port that could run a script runs only our own, and none that is inline", async () => {
  for (const path of ["/console/", "/docs", "/docs/errors", "/account", "/device"]) {
    const page = await get(path);
    const directives = (page.headers.get("content-security-policy") ?? "").split("; ");
    expect([path, directives]).toEqual([
      path,
      expect.arrayContaining(["default-src 'none'", "frame-ancestors 'none'"]),
    ]);
    const scripts = directives.filter((one) => one.startsWith("script-src"));
    expect(scripts.every((one) => one === "script-src 'self'")).toBe(true);
    if (scripts.length > 0)
      expect(directives).toEqual(
        expect.arrayContaining(["trusted-types 'none'", "require-trusted-types-for 'script'"]),
      );
  }
});

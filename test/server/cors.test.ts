import { afterAll, beforeAll, expect, test } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { frame } from "../wire/frame.ts";

const origin = "https://app.example";
let postern: Postern;
beforeAll(async () => {
  postern = await startPostern({ corsOrigins: [origin] });
});
afterAll(() => postern[Symbol.asyncDispose]());

const getMe = "/postern.v1.AccountService/GetMe";
const doors: readonly (readonly [door: string, path: string, init: RequestInit & { method: string }])[] = [
  ["REST", "/v1/users/me", { method: "GET" }],
  ["plain JSON", getMe, post("application/json", "{}")],
  ["Connect", getMe, post("application/proto", "")],
  ["streaming Connect", getMe, post("application/connect+json", frame("{}"))],
  ["gRPC-Web", getMe, post("application/grpc-web+proto", frame(""))],
  ["gRPC-Web text", getMe, post("application/grpc-web-text", frame("").toString("base64"))],
  ["a wrong path", "/nowhere", { method: "DELETE" }],
];

function post(type: string, body: string | Uint8Array<ArrayBuffer>) {
  return { method: "POST", body, headers: { "content-type": type } };
}

const ask = (path: string, init: RequestInit, from = origin, at = postern) =>
  fetch(at.url + path, { ...init, headers: { ...init.headers, origin: from } });

test.each(doors)("%s: a page of a known origin may call and read the answer", async (_, path, init) => {
  const wish = { "access-control-request-method": init.method, "access-control-request-headers": "authorization" };
  const before = await ask(path, { method: "OPTIONS", headers: wish });
  expect([before.status, await before.text()]).toEqual([204, ""]);
  expect(before.headers.get("access-control-allow-origin")).toBe(origin);
  expect(before.headers.get("access-control-allow-methods")).toContain(init.method);
  expect(before.headers.get("access-control-allow-headers")).toBe("authorization");
  const { headers } = await ask(path, init);
  expect(headers.get("access-control-allow-origin")).toBe(origin);
  expect(headers.get("access-control-expose-headers")).toMatch(/grpc-status.*x-request-id/);
  expect(headers.get("vary")).toContain("origin");
});

test.each(doors)("%s: a page of another origin may not", async (_, path, init) => {
  const wish = { "access-control-request-method": init.method };
  const before = await ask(path, { method: "OPTIONS", headers: wish }, "https://evil.example");
  expect(before.headers.get("access-control-allow-origin")).toBeNull();
  const { headers } = await ask(path, init, "https://evil.example");
  expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual([null, "origin"]);
});

test("without the setting nothing is said of origins, and OPTIONS is a method like any other", async () => {
  await using closed = await startPostern();
  const before = await ask(
    getMe,
    { method: "OPTIONS", headers: { "access-control-request-method": "POST" } },
    origin,
    closed,
  );
  expect([before.status, before.headers.get("access-control-allow-origin")]).toEqual([405, null]);
});

test("with * every page may call", async () => {
  await using open = await startPostern({ corsOrigins: ["*"] });
  const { headers } = await ask("/healthz", {}, "null", open);
  expect(headers.get("access-control-allow-origin")).toBe("*");
});

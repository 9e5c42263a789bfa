import { connect } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gateway, type HttpRoute } from "../../src/gateway.ts";
import type { Listening } from "../../src/http/server.ts";
import { http2 } from "../http/implementation.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };
const origin = { "access-control-allow-origin": "https://app.example" };
const routes: readonly HttpRoute[] = [
  {
    path: "/form",
    methods: ["POST", "OPTIONS"],
    bodyMaxBytes: 100,
    handle: ({ method, body }) =>
      method === "OPTIONS"
        ? { status: 204, headers: origin }
        : { status: 200, headers: { ...origin, "set-cookie": ["a=1", "b=2"] }, body },
  },
  { path: "/page", handle: ({ body }) => ({ status: 200, headers: {}, body: String(body.length) }) },
];

let server: Listening;
beforeAll(async () => {
  server = await gateway({
    routes: () => {},
    httpRoutes: routes,
    corsOrigins: ["*"],
    limits: { bodyTimeoutMs: 300 },
  }).listen({ http2 });
});
afterAll(() => server?.[Symbol.asyncDispose]());

const post = (body: string | ReadableStream) =>
  fetch(`${server.url}/form`, { method: "POST", headers: form, body, duplex: "half" } as RequestInit);

test("a route that takes bodies gets the body of a request, and sends each of its cookies", async () => {
  const answered = await post("a=1&b=2");
  expect([answered.status, await answered.text()]).toEqual([200, "a=1&b=2"]);
  expect(answered.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});

test("a body that is too large is refused, whether its length is stated or not", async () => {
  expect((await post("a".repeat(100))).status).toBe(200);
  const parts = new ReadableStream({
    start(controller) {
      for (let part = 0; part < 3; part++) controller.enqueue(new TextEncoder().encode("a".repeat(60)));
      controller.close();
    },
  });
  for (const body of ["a".repeat(101), parts]) {
    const refused = await post(body);
    expect([refused.status, JSON.parse(await refused.text()).details[0].reason]).toEqual([413, "BODY_TOO_LARGE"]);
  }
});

test("a route without bodies reads none", async () => {
  expect(await (await fetch(`${server.url}/page`)).text()).toBe("0");
  expect((await fetch(`${server.url}/page`, { method: "POST", headers: form, body: "a" })).status).toBe(405);
});

test("a route may name the origins that read it, and answer their preflights", async () => {
  const asks = { origin: "https://app.example", "access-control-request-method": "POST" };
  const preflight = (path: string) => fetch(server.url + path, { method: "OPTIONS", headers: asks });
  expect((await preflight("/form")).headers.get("access-control-allow-origin")).toBe("https://app.example");
  expect((await preflight("/page")).headers.get("access-control-allow-origin")).toBe("*");
  expect((await post("a")).headers.get("access-control-allow-origin")).toBe("https://app.example");
});

test("over HTTP/2 a body arrives in parts, and one that never ends is refused in time", async () => {
  const session = connect(server.url);
  await using closed = new AsyncDisposableStack();
  closed.defer(() => session.destroy());
  const begin = () => session.request({ ":method": "POST", ":path": "/form", ...form });
  const whole = begin();
  whole.write("a=");
  await pause(1);
  whole.end("1");
  expect(await statusOf(whole)).toEqual([200, "a=1"]);
  const endless = begin();
  endless.write("a=");
  const [status, text] = await statusOf(endless);
  expect([status, JSON.parse(text).details[0].reason]).toEqual([504, "DEADLINE_EXCEEDED"]);
});

async function statusOf(stream: ReturnType<ReturnType<typeof connect>["request"]>): Promise<[number, string]> {
  const { promise, resolve } = Promise.withResolvers<number>();
  stream.on("response", (headers) => resolve(Number(headers[":status"])));
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return [await promise, Buffer.concat(parts).toString()];
}

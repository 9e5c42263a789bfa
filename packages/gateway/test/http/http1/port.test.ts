import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { openSocket, readUntil, sendBytes } from "../../../../../test/wire/tcp.ts";
import { openSample } from "../../sample_gateway.ts";

const complete = /\r\n\r\n\{.*\}$/s;

test("one port answers REST paths and rpc paths with JSON", async () => {
  await using port = await openSample();
  const rest = await fetch(`${port.url}/one/ada`);
  expect([rest.status, rest.headers.get("content-type")]).toEqual([200, "application/json"]);
  expect(await rest.json()).toMatchObject({ name: "ada", tags: [], itemCount: 0, whole: "0" });
  const rpc = await post(`${port.url}/sample.Samples/One`, { name: "ada" });
  expect(await rpc.json()).toMatchObject({ name: "ada" });
});

test("every answer has a request id of its own, is stored by nobody, and is what it says it is", async () => {
  await using port = await openSample();
  const answers = await Promise.all([
    ...["/one/ada", "/nowhere", "/healthz", "/readyz", "/one/%"].map((path) => fetch(port.url + path)),
    post(`${port.url}/do`, "x"),
  ]);
  for (const { headers } of answers) {
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f]{24}$/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-type")).toBe("application/json");
  }
  expect(new Set(answers.map(({ headers }) => headers.get("x-request-id"))).size).toBe(answers.length);
});

test("a client cannot choose the request id", async () => {
  await using port = await openSample();
  const { headers } = await fetch(`${port.url}/one/a`, { headers: { "x-request-id": "mine" } });
  expect(headers.get("x-request-id")).not.toBe("mine");
});

const problems: readonly [
  what: string,
  path: string,
  init: RequestInit,
  status: number,
  code: number,
  reason: string,
][] = [
  ["an unknown path", "/nowhere", {}, 404, 5, "UNKNOWN_PATH"],
  ["a wrong method", "/one/ada", { method: "PUT" }, 405, 12, "METHOD_NOT_ALLOWED"],
  ["GET on an rpc path", "/sample.Samples/Do", {}, 405, 12, "METHOD_NOT_ALLOWED"],
  ["a form", "/do", { method: "POST", body: new URLSearchParams("a=b") }, 415, 12, "UNSUPPORTED_CONTENT_TYPE"],
  ["plain text", "/do", { method: "POST", body: "{}" }, 415, 12, "UNSUPPORTED_CONTENT_TYPE"],
  ["no content type", "/do", { method: "POST", body: new Blob(["{}"]) }, 415, 12, "UNSUPPORTED_CONTENT_TYPE"],
  ["another charset", "/do", json("{}", "application/json; charset=utf-16"), 415, 12, "UNSUPPORTED_CONTENT_TYPE"],
  ["JSON of another kind", "/do", json("{}", "application/jsonp"), 415, 12, "UNSUPPORTED_CONTENT_TYPE"],
  [
    "a compressed body",
    "/do",
    json("{}", "application/json", { "content-encoding": "lzma" }),
    415,
    12,
    "UNSUPPORTED_ENCODING",
  ],
  ["a body that is too large", "/do", json(`{"name":"${"a".repeat(1000)}"}`), 413, 8, "BODY_TOO_LARGE"],
  ["a broken rule", "/one/too-long", {}, 400, 3, "VALIDATION_FAILED"],
  ["a malformed escape", "/one/%zz", {}, 400, 3, "MALFORMED_REQUEST"],
  ["many headers", "/one/a", { headers: manyHeaders(70) }, 431, 8, "HEADERS_TOO_LARGE"],
];

for (const [what, path, init, status, code, reason] of problems) {
  test(`${what} is ${status} with the one error body`, async () => {
    await using port = await openSample();
    const answer = await fetch(port.url + path, init);
    const body = Object(await answer.json());
    expect([answer.status, body.code]).toEqual([status, code]);
    expect(body.message).toMatch(/^\S/);
    expect(body.details[0]).toMatchObject({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason,
      domain: "gateway",
    });
  });
}

test("405 says what is allowed", async () => {
  await using port = await openSample();
  expect((await fetch(`${port.url}/one/a`, { method: "PUT" })).headers.get("allow")).toBe("GET, HEAD");
  expect((await fetch(`${port.url}/do`)).headers.get("allow")).toBe("POST");
  expect((await fetch(`${port.url}/sample.Samples/Do`)).headers.get("allow")).toBe("POST");
  expect((await fetch(`${port.url}/healthz`, { method: "POST" })).headers.get("allow")).toBe("GET, HEAD");
});

test("the content type may name utf-8 and be written in capitals", async () => {
  await using port = await openSample();
  for (const type of ["application/json; charset=utf-8", 'Application/JSON;Charset="UTF-8"', "application/json;"])
    expect((await fetch(`${port.url}/do`, json("{}", type))).status).toBe(200);
});

test("HEAD answers like GET, without the body", async () => {
  await using port = await openSample();
  const text = await sendBytes(port, "HEAD /one/ada HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  expect(text).toMatch(/^HTTP\/1.1 200 /);
  expect(text).toMatch(/content-length: [1-9]\d+\r\n/);
  expect(text).toMatch(/\r\n\r\n$/);
});

const authorities = ["[", "a b", "", "a/b", "a@b", "a?b", "a#b", "[::zz]", "a:99999", "a:b", "[::1", "%", "a\\b"];

for (const authority of authorities) {
  test(`Host: ${authority || "empty"} is 400 and ends nothing`, async () => {
    await using port = await openSample();
    const text = await sendBytes(port, `GET /one/a HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, complete);
    expect(text).toMatch(/^HTTP\/1.1 400 [\s\S]*MALFORMED_REQUEST/);
    expect((await fetch(`${port.url}/one/a`)).status).toBe(200);
  });
}

const malformed: readonly [what: string, bytes: string, status: number][] = [
  ["no Host", "GET /one/a HTTP/1.1\r\n\r\n", 400],
  ["HTTP/1.0 with two Hosts", "GET /one/a HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400],
  ["HTTP/1.0 with an empty Host", "GET /one/a HTTP/1.0\r\nHost:\r\n\r\n", 400],
  ["two Hosts", "GET /one/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400],
  ["no HTTP at all", "hello\r\n\r\n", 400],
  ["the first byte of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
  ["headers that are too large", `GET / HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(5000)}\r\n\r\n`, 431],
  ["a target that is no path", "GET one HTTP/1.1\r\nhost: a\r\n\r\n", 400],
  ["OPTIONS *", "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", 400],
  ["two lengths", "POST /do HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}", 400],
  [
    "a length and chunks",
    "POST /do HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
    400,
  ],
  [
    "a chunk without a size",
    "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    400,
  ],
];

for (const [what, bytes, status] of malformed) {
  test(`${what} is ${status} with the one error body, and ends nothing`, async () => {
    await using port = await openSample();
    const text = await sendBytes(port, Buffer.from(bytes, "latin1"), complete);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text).toMatch(/x-request-id: \w{24}\r\n/);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n"))).details[0].domain).toBe("gateway");
    expect((await fetch(`${port.url}/one/a`)).status).toBe(200);
  });
}

const withoutHost: readonly [what: string, head: string, answer: RegExp][] = [
  ["a REST path", "GET /one/ada HTTP/1.0", /^HTTP\/1.1 200 [\s\S]*"name":"ada"/],
  ["a path in absolute form", "GET http://a.example/one/ada HTTP/1.0", /^HTTP\/1.1 200 [\s\S]*"name":"ada"/],
  ["/readyz", "GET /readyz HTTP/1.0", /^HTTP\/1.1 200 /],
  ["an unknown path", "GET /nowhere HTTP/1.0", /^HTTP\/1.1 404 [\s\S]*UNKNOWN_PATH/],
  ["a target that is no path", "GET one HTTP/1.0", /^HTTP\/1.1 400 [\s\S]*MALFORMED_REQUEST/],
];

// HAProxy's `option httpchk` sends this; RFC 9112, 3.2 requires Host of HTTP/1.1 only.
for (const [what, head, answer] of withoutHost) {
  test(`HTTP/1.0 without Host: ${what} is answered, and the connection closes`, async () => {
    await using port = await openSample();
    const text = await sendBytes(port, `${head}\r\n\r\n`);
    expect(text).toMatch(answer);
    expect(text).toMatch(/\r\nconnection: close\r\n/);
  });
}

test("the absolute form of a target is understood", async () => {
  await using port = await openSample();
  const text = await sendBytes(
    port,
    "GET http://a.example/one/ada?left=x HTTP/1.1\r\nhost: a.example\r\n\r\n",
    complete,
  );
  expect(text).toMatch(/^HTTP\/1.1 200 [\s\S]*"name":"ada"[\s\S]*"left":"x"/);
});

test("Upgrade: h2c is not taken up", async () => {
  await using port = await openSample();
  const upgrade = "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n";
  expect(await sendBytes(port, `GET /one/a HTTP/1.1\r\nhost: a\r\n${upgrade}\r\n`, complete)).toMatch(
    /^HTTP\/1.1 200 /,
  );
});

test("a chunked body is read, and one that grows too large is 413", async () => {
  await using port = await openSample();
  const head = "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
  expect(await sendBytes(port, `${head}5\r\n{"nam\r\n7\r\ne":"a"}\r\n0\r\n\r\n`, complete)).toMatch(
    /^HTTP\/1.1 200 .*"name":"a"/s,
  );
  const chunk = `258\r\n${" ".repeat(600)}\r\n`;
  expect(await sendBytes(port, head + chunk + chunk, complete)).toMatch(/^HTTP\/1.1 413 [\s\S]*"code":8/);
});

test("a body that is announced as too large is refused before it is sent", async () => {
  await using port = await openSample();
  const head = "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n";
  expect(await sendBytes(port, `${head}\r\n`, complete)).toMatch(/^HTTP\/1.1 413 /);
  const expecting = await sendBytes(port, `${head}expect: 100-continue\r\n\r\n`);
  expect(expecting).toMatch(/^HTTP\/1.1 413 [\s\S]*connection: close/i);
});

test("after a refused body the connection serves on", async () => {
  await using port = await openSample();
  const body = "a".repeat(2000);
  const first = `POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2000\r\n\r\n${body}`;
  const text = await sendBytes(port, `${first}GET /one/b HTTP/1.1\r\nhost: a\r\n\r\n`, /"name":"b"/);
  expect(text).toMatch(/^HTTP\/1.1 413 [\s\S]*HTTP\/1.1 200 /);
});

test("expect: 100-continue is answered, then the body is taken", async () => {
  await using port = await openSample();
  const socket = await openSocket(port);
  const head = "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 12\r\n";
  socket.write(`${head}expect: 100-continue\r\n\r\n`);
  expect(await readUntil(socket, /\r\n\r\n/)).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  socket.write('{"name":"a"}');
  expect(await readUntil(socket, complete)).toMatch(/^HTTP\/1.1 200 .*"name":"a"/s);
  socket.destroy();
});

test("headers that do not come in time end the connection with 408", async () => {
  await using port = await openSample({ headerTimeoutMs: 1000, bodyTimeoutMs: 1000 });
  expect(await sendBytes(port, "GET /one/a HTTP/1.1\r\nhost:")).toMatch(/^HTTP\/1.1 408 [\s\S]*DEADLINE_EXCEEDED/);
});

test("a connection that says nothing is closed", async () => {
  await using port = await openSample({ headerTimeoutMs: 1000, bodyTimeoutMs: 1000 });
  const socket = await openSocket(port);
  await readUntil(socket);
  expect(socket.destroyed).toBe(true);
});

test("a body that does not come in time ends the connection with 408", async () => {
  await using port = await openSample({ headerTimeoutMs: 1000, bodyTimeoutMs: 1000 });
  const head = "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n";
  expect(await sendBytes(port, `${head}{"na`)).toMatch(/^HTTP\/1.1 408 /);
});

test("a connection without a call is closed after the idle time", async () => {
  await using port = await openSample({ idleTimeoutMs: 200 });
  const socket = await openSocket(port);
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  await readUntil(socket);
  expect(socket.destroyed).toBe(true);
});

test("clients that reset their connection at any moment end nothing", async () => {
  await using port = await openSample();
  const head = "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n";
  for (const bytes of [
    "",
    "P",
    "GET / HTTP",
    head,
    `${head}{"n`,
    `${head}{"name":"a"}`,
    "GET /watch HTTP/1.1\r\nhost: a\r\n\r\n",
  ]) {
    const socket = await openSocket(port);
    socket.write(bytes);
    await pause(10);
    socket.resetAndDestroy();
  }
  await pause(50);
  expect((await fetch(`${port.url}/one/a`)).status).toBe(200);
});

test("the signal of a call aborts when its client goes away, and not before", async () => {
  const { promise: aborted, resolve } = Promise.withResolvers<boolean>();
  const { promise: called, resolve: call } = Promise.withResolvers<void>();
  await using port = await openSample(
    {},
    {
      handler: async (request, { signal }) => {
        call();
        signal.addEventListener("abort", () => resolve(signal.aborted));
        await aborted;
        return request;
      },
    },
  );
  const socket = await openSocket(port);
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  await called;
  socket.destroy();
  expect(await aborted).toBe(true);
});

test("a call that is running when the server stops gets its answer, and its connection is closed", async () => {
  const gate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const port = await openSample(
    {},
    {
      handler: async (request) => {
        called.resolve();
        await gate.promise;
        return request;
      },
    },
  );
  const idle = await openSocket(port);
  const socket = await openSocket(port);
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  await called.promise;
  const stopped = port[Symbol.asyncDispose]();
  // Connections that come while the port closes are taken: a call on one would wait for the gate.
  await expect.poll(() => isRefused(port)).toBe(true);
  await readUntil(idle);
  gate.resolve();
  expect(await readUntil(socket)).toMatch(/^HTTP\/1.1 200 [\s\S]*connection: close/i);
  await stopped;
});

test("a call that does not end is cut off after the grace", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const handler = () => {
    begin();
    return new Promise<object>(() => {});
  };
  const port = await openSample({ shutdownGraceMs: 200 }, { handler });
  const socket = await openSocket(port);
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  await begun;
  await port[Symbol.asyncDispose]();
});

test("a port that is taken is an error that says so", async () => {
  await using port = await openSample();
  const { listen } = await import("../../../src/http/server.ts");
  const limits = { messageMaxBytes: 1, headersMaxBytes: 1024, headerTimeoutMs: 1, bodyTimeoutMs: 1 };
  const more = { streamsMax: 1, connectionAgeMs: 0, bodiesMaxBytes: 1024, unknownStreamsMax: 100_000 };
  const stop = { idleTimeoutMs: 1, shutdownDelayMs: 0, shutdownGraceMs: 1 };
  const options = { limits: { ...limits, ...more, ...stop }, handle: () => {} };
  await expect(listen({ host: "127.0.0.1", port: Number(new URL(port.url).port), ...options })).rejects.toThrow(
    /EADDRINUSE/,
  );
});

test("/readyz follows the node, and fails while it stops or cannot tell", async () => {
  let isReady = true;
  await using port = await openSample({}, { ready: () => isReady });
  expect((await fetch(`${port.url}/readyz`)).status).toBe(200);
  isReady = false;
  await expect.poll(async () => (await fetch(`${port.url}/readyz`)).status).toBe(503);
  const failing = () => Promise.reject(new Error("no database"));
  await using broken = await openSample({}, { ready: failing });
  const answer = await fetch(`${broken.url}/readyz`);
  expect([answer.status, JSON.stringify(await answer.json())]).toEqual([503, expect.not.stringContaining("database")]);
  expect((await fetch(`${port.url}/healthz`)).status).toBe(200);
});

async function isRefused(port: { readonly url: string }): Promise<boolean> {
  try {
    (await openSocket(port)).destroy();
    return false;
  } catch {
    return true;
  }
}

function json(body: string, type = "application/json", headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body, headers: { "content-type": type, ...headers } };
}

function post(url: string, body: unknown) {
  return fetch(url, json(JSON.stringify(body)));
}

function manyHeaders(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "a"]));
}

import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import { certificateFor } from "../../../../test/wire/certificate.ts";
import { openSocket, readUntil } from "../../../../test/wire/tcp.ts";
import type { Listening } from "../../src/http/server.ts";
import { openSample } from "../sample_gateway.ts";

const times = { headerTimeoutMs: 1000, bodyTimeoutMs: 1000 };
const post = "POST /do HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n";

/** Sends one byte after the other until the connection closes. */
async function drip(socket: Socket, bytes: string): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed || !socket.writable) return;
    socket.write(byte);
    await pause(20);
  }
}

test.each([
  ["headers", "GET /one/a HTTP/1.1\r\nhost: a\r\nx: ", /^HTTP\/1.1 408 [\s\S]*DEADLINE_EXCEEDED/],
  ["a body", `${post}{"name":"`, /^HTTP\/1.1 408 /],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM", /^$/],
])("%s that comes byte by byte is cut when its time is over, however alive the client is", async (_, begin, sent) => {
  await using port = await openSample(times);
  const socket = await openSocket(port);
  const answer = readUntil(socket);
  const alone = begin.startsWith("PRI");
  if (!alone) socket.write(begin);
  await drip(socket, alone ? begin : "a".repeat(800));
  expect(await answer).toMatch(sent);
  expect(socket.destroyed).toBe(true);
});

test("a body of HTTP/2 that comes byte by byte is refused when its time is over", async () => {
  await using port = await openSample(times);
  const session = connectHttp2(port.url);
  const headers = { ":method": "POST", ":path": "/do", "content-type": "application/json" };
  const stream = session.request(headers).on("error", () => {});
  let text = "";
  stream.on("data", (part) => {
    text += part;
  });
  for (let count = 0; count < 800 && !stream.closed; count++) {
    stream.write(" ");
    await pause(20);
  }
  expect(JSON.parse(text)).toMatchObject({ code: 4, details: [{ reason: "DEADLINE_EXCEEDED" }] });
  session.destroy();
});

// More than the buffers of both ends hold.
const large = "x".repeat(24_000_000);
const ways = ["clear text", "TLS"] as const;

/** A port whose responses are larger than a client reads at once, over clear text or TLS. */
async function openLarge(way: (typeof ways)[number], bodyTimeoutMs = 400) {
  const stack = new AsyncDisposableStack();
  const certificate = way === "TLS" ? stack.use(await certificateFor("localhost")) : undefined;
  const handler = async () => ({ name: large });
  const port = stack.use(
    await openSample({ ...times, bodyTimeoutMs }, { handler, ...(certificate && { certificate }) }),
  );
  return {
    port,
    dial: () => (certificate ? dialTls(port) : openSocket(port)),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function dialTls({ url }: Listening): Promise<Socket> {
  const socket = connectTls({ port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false });
  await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  return socket.on("error", () => {});
}

test.each(ways)("over %s, an answer of HTTP/1.1 that nobody reads is given up, and its connection cut", async (way) => {
  await using server = await openLarge(way);
  const socket = await server.dial();
  socket.pause();
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  await pause(3000);
  const answer = readUntil(socket);
  socket.resume();
  const text = await answer;
  expect(text).toMatch(/^HTTP\/1.1 200 /);
  expect(text.length).toBeLessThan(large.length);
});

test.each(ways)("over %s, an answer of HTTP/1.1 that is read slowly arrives whole", async (way) => {
  // Less than reading all of it takes, and more than a machine that is busy pauses between two pieces.
  await using server = await openLarge(way, 2000);
  const socket = await server.dial();
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
  let size = 0;
  for await (const part of socket) {
    size += part.length;
    if (Math.floor(size / 1_000_000) > Math.floor((size - part.length) / 1_000_000)) await pause(120);
  }
  expect(size).toBeGreaterThan(large.length);
});

test.each(ways)("over %s, headers that stop half-way end the connection", async (way) => {
  await using server = await openLarge(way);
  const socket = await server.dial();
  socket.write("GET /one/a HTTP/1.1\r\nhost:");
  expect(await readUntil(socket)).toMatch(/^HTTP\/1.1 408 /);
});

test.each(ways)("over %s, a handler may take longer than any reader", async (way) => {
  const stack = new AsyncDisposableStack();
  await using _ = stack;
  const certificate = way === "TLS" ? stack.use(await certificateFor("localhost")) : undefined;
  const handler = async () => {
    await pause(1500);
    return { name: "late" };
  };
  const port = stack.use(await openSample({ bodyTimeoutMs: 200 }, { handler, ...(certificate && { certificate }) }));
  const socket = certificate ? await dialTls(port) : await openSocket(port);
  for (const _again of [1, 2]) {
    socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
    expect(await readUntil(socket, /late/)).toContain('"name":"late"');
    socket.removeAllListeners("data").removeAllListeners("close");
  }
  socket.destroy();
});

test("a stream that nobody reads is given up, and its handler ends", async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const handler = async function* () {
    try {
      while (true) yield { name: "x".repeat(100_000) };
    } finally {
      resolve();
    }
  };
  await using port = await openSample({ bodyTimeoutMs: 300 }, { handler });
  const socket = await openSocket(port);
  socket.pause();
  socket.write("GET /watch HTTP/1.1\r\nhost: a\r\n\r\n");
  await ended;
  socket.destroy();
});

import { type ClientHttp2Session, connect, constants } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { frame } from "../../../../test/wire/frame.ts";
import { requestHttp2 } from "../../../../test/wire/http2.ts";
import { openSocket, readUntil, sendBytes } from "../../../../test/wire/tcp.ts";
import { openSample } from "../sample_gateway.ts";

const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const json = { "content-type": "application/json" };
const closed = (session: ClientHttp2Session) => new Promise<void>((resolve) => session.on("close", resolve));

test("one port tells HTTP/1.1 and HTTP/2 apart, also byte by byte", async () => {
  await using port = await openSample();
  const two = await openSocket(port);
  const one = await openSocket(port);
  two.setNoDelay(true);
  for (const [index, byte] of preface.entries()) {
    two.write(Buffer.of(byte));
    one.write("PUT /one/a HTTP/1.1\r\nhost: a\r\n\r\n"[index] ?? "");
    await pause(2);
  }
  // The first frame of a server is its SETTINGS.
  const first = await new Promise<Buffer>((resolve) => two.once("data", resolve));
  expect(first[3]).toBe(constants.NGHTTP2_SETTINGS_ENABLE_PUSH + 2);
  one.write("PUT /one/a HTTP/1.1\r\nhost: a\r\n\r\n".slice(preface.length));
  expect(await readUntil(one, /405/)).toMatch(/^HTTP\/1.1 405 /);
  two.destroy();
  one.destroy();
});

test("a connection that stops within the preface is cut", async () => {
  await using port = await openSample({ headerTimeoutMs: 200 });
  for (const length of [1, 3, 23]) {
    const socket = await openSocket(port);
    socket.write(preface.subarray(0, length));
    expect(await readUntil(socket)).toBe("");
  }
});

test("clients that reset at any moment of HTTP/2 end nothing", async () => {
  await using port = await openSample();
  for (const length of [0, 1, 23, 24, 28, preface.length]) {
    const socket = await openSocket(port);
    socket.write(preface.subarray(0, length));
    await pause(10);
    socket.resetAndDestroy();
  }
  const session = connect(port.url).on("error", () => {});
  const stream = session.request({ ":path": "/watch" }).on("error", () => {});
  await pause(20);
  stream.close(constants.NGHTTP2_CANCEL);
  session.destroy();
  await pause(20);
  expect((await fetch(`${port.url}/one/a`)).status).toBe(200);
});

test("headers of HTTP/2 that are too large, or too many, end their stream only", async () => {
  await using port = await openSample();
  for (const extra of [
    { x: "a".repeat(8000) },
    Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`x-${i}`, "a"])),
  ])
    await requestHttp2(port.url, { ":path": "/one/a", ...extra }).catch(() => {});
  expect((await requestHttp2(port.url, { ":path": "/one/a" })).status).toBe(200);
});

test("a client is told how many calls it may make at once", async () => {
  await using port = await openSample({ streamsMax: 3 }, { handler: () => new Promise(() => {}) });
  const session = connect(port.url).on("error", () => {});
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  expect(session.remoteSettings.maxConcurrentStreams).toBe(3);
  session.destroy();
});

test("a client that keeps resetting its calls loses the connection", async () => {
  await using port = await openSample();
  const session = connect(port.url).on("error", () => {});
  const over = closed(session);
  for (let count = 0; count < 2000 && !session.destroyed; count += 1) {
    session
      .request({ ":path": "/one/a" })
      .on("error", () => {})
      .close(constants.NGHTTP2_CANCEL);
    if (count % 50 === 0) await pause(1);
  }
  await over;
  expect((await fetch(`${port.url}/one/a`)).status).toBe(200);
});

test("a client that floods with PING loses the connection", async () => {
  await using port = await openSample();
  const socket = await openSocket(port);
  socket.write(preface);
  const ping = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
  socket.write(Buffer.concat(Array.from({ length: 5000 }, () => ping)));
  await readUntil(socket);
  expect(socket.destroyed).toBe(true);
});

test("an idle connection of HTTP/2 is closed, one with an open call is not", async () => {
  const gate = Promise.withResolvers<void>();
  await using port = await openSample(
    { idleTimeoutMs: 1000 },
    { handler: async (request) => gate.promise.then(() => request) },
  );
  const [idle, busy] = [connect(port.url), connect(port.url)];
  const stream = busy.request({ ":path": "/one/a" });
  await closed(idle);
  await pause(1500);
  gate.resolve();
  let text = "";
  for await (const part of stream) text += part;
  expect(text).toContain('"name":"a"');
  busy.destroy();
});

test("a connection that is old takes no new calls", async () => {
  await using port = await openSample({ connectionAgeMs: 100 });
  const session = connect(port.url);
  await closed(session);
  const socket = await openSocket(port);
  // A slow machine may have made the connection old before its first call.
  const whole = readUntil(socket);
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  await readUntil(socket, /"name":"a"/);
  await pause(150);
  socket.write("GET /one/a HTTP/1.1\r\nhost: a\r\n\r\n");
  expect(await whole).toMatch(/connection: close/i);
});

test("a body of HTTP/2 that does not come in time is refused", async () => {
  await using port = await openSample({ bodyTimeoutMs: 150 });
  const session = connect(port.url);
  const stream = session.request({ ":method": "POST", ":path": "/do", ...json });
  stream.write("{");
  let text = "";
  for await (const part of stream) text += part;
  expect(JSON.parse(text).code).toBe(4);
  session.destroy();
});

const encodings = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync };

test.each(Object.entries(encodings))(
  "a %s body is read, and refused when it is too large inside",
  async (name, compress) => {
    await using port = await openSample();
    const send = (body: string) =>
      fetch(`${port.url}/do`, {
        ...{ method: "POST", headers: { ...json, "content-encoding": name } },
        body: new Uint8Array(compress(body)),
      });
    const good = await send('{"name":"a"}');
    expect(Object(await good.json()).name).toBe("a");
    expect((await send(`{"name":"a"${" ".repeat(5000)}}`)).status).toBe(413);
    const plain = { method: "POST", body: "{}", headers: { ...json, "content-encoding": name } };
    expect((await fetch(`${port.url}/do`, plain)).status).toBe(400);
  },
);

test("a large answer is compressed for who can read that", async () => {
  await using port = await openSample({ messageMaxBytes: 100_000 });
  const body = JSON.stringify({ labels: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`key${i}`, "a"])) });
  const ask = (encoding: string) =>
    fetch(`${port.url}/do`, { method: "POST", body, headers: { ...json, "accept-encoding": encoding } });
  for (const name of ["gzip", "br", "identity"]) {
    const answer = await ask(name);
    expect(answer.headers.get("content-encoding")).toBe(name === "identity" ? null : name);
    expect(answer.headers.get("vary")).toContain("accept-encoding");
    expect(Object.keys(Object(await answer.json()).labels).length).toBe(300);
  }
});

test("the deadline of a caller, or ours, ends the wait, in every protocol", async () => {
  await using port = await openSample({ deadlineMaxMs: 150 }, { handler: () => new Promise(() => {}) });
  const rest = await fetch(`${port.url}/one/a`);
  expect([rest.status, Object(await rest.json()).code]).toEqual([504, 4]);
  const path = "/sample.Samples/Do";
  const calls = [{}, { "grpc-timeout": "20m" }, { "grpc-timeout": "99999999H" }].map(async (timeout) => {
    const answer = await requestHttp2(
      port.url,
      { ":path": path, "content-type": "application/grpc", ...timeout },
      frame(""),
    );
    return answer.headers["grpc-status"];
  });
  expect(await Promise.all(calls)).toEqual(["4", "4", "4"]);
  const connectCall = { ...json, "connect-protocol-version": "1", "connect-timeout-ms": "20" };
  expect((await requestHttp2(port.url, { ":path": path, ...connectCall }, "{}")).status).toBe(504);
});

test("Upgrade to HTTP/2 within a connection is not taken up", async () => {
  await using port = await openSample();
  const text = await sendBytes(
    port,
    "GET /one/a HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    /\}$/,
  );
  expect(text).toMatch(/^HTTP\/1.1 200 /);
});

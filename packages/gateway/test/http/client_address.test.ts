import { connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import { certificateFor } from "../../../../test/wire/certificate.ts";
import { requestHttp2 } from "../../../../test/wire/http2.ts";
import { extension, ipv4, ipv6, proxyHeader } from "../../../../test/wire/proxy.ts";
import { openSocket, readUntil, sendBytes } from "../../../../test/wire/tcp.ts";
import { defaultLimits } from "../../src/gateway.ts";
import { clientAddresses } from "../../src/http/client_address.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import { type ListenOptions, listen } from "../../src/http/server.ts";
import { http2 } from "./implementation.ts";

/** A server that answers each request by the network of its client, and by its address in a header. */
const open = (options: Partial<ListenOptions> = {}) =>
  listen({
    ...{ host: "127.0.0.1", port: 0, http2, limits: { ...defaultLimits, headerTimeoutMs: 2000 } },
    handle: (exchange: Exchange) =>
      exchange.answer({
        status: 200,
        headers: { "content-length": "16", "x-address": exchange.address ?? "nobody" },
        body: (exchange.network ?? "nobody").padEnd(16),
      }),
    ...options,
  });
const trustedProxies = ["127.0.0.0/8", "10.0.0.0/8"];
const get = (forwarded?: string) =>
  `GET / HTTP/1.1\r\nhost: a\r\n${forwarded === undefined ? "" : `x-forwarded-for: ${forwarded}\r\n`}connection: close\r\n\r\n`;
const seen = (text: string) => text.split("\r\n\r\n").at(-1)?.trim() ?? "";
const named = proxyHeader({ addresses: ipv4("203.0.113.7"), extensions: extension(2, "a.example") });

test("what a peer says that is no trusted proxy is not believed", async () => {
  await using server = await open({ trustedProxies: ["10.0.0.0/8"] });
  expect(seen(await sendBytes(server, get("203.0.113.7")))).toBe("127.0.0.1");
  expect(await sendBytes(server, Buffer.concat([named, Buffer.from(get())]))).not.toContain("203.0.113.7");
});

test("a trusted proxy names its client by a PROXY header, in front of both versions of HTTP", async () => {
  await using server = await open({ trustedProxies });
  const ask = async (header: Buffer, forwarded?: string) =>
    seen(await sendBytes(server, Buffer.concat([header, Buffer.from(get(forwarded))])));
  expect(await ask(named)).toBe("203.0.113.7");
  const named6 = proxyHeader({ family: 0x21, addresses: ipv6(0x2001, 0xdb8, 1, 2, 5) });
  expect(await ask(named6)).toBe("2001:db8:1:2");
  expect(await sendBytes(server, Buffer.concat([named6, Buffer.from(get())]))).toContain("x-address: 2001:db8:1:2:5:");
  // The client of the header is no proxy: it may have written the other header.
  expect(await ask(named, "198.51.100.1")).toBe("203.0.113.7");
  // The client of the header is a proxy itself, and names its own.
  expect(await ask(proxyHeader({ addresses: ipv4("10.0.0.9") }), "198.51.100.1")).toBe("198.51.100.1");
  expect(await ask(proxyHeader({ command: 0x20, family: 0 }))).toBe("nobody");
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const socket = await openSocket(server);
  socket.write(Buffer.concat([named, preface, Buffer.of(0, 0, 0, 4, 0, 0, 0, 0, 0)]));
  // Method, scheme and path by the static table of HPACK, and `:authority: a`.
  socket.write(Buffer.of(0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, 0x61));
  expect(await readUntil(socket, /203\.0\.113\.7/)).toContain("203.0.113.7");
  socket.destroy();
});

test("a PROXY header may come byte by byte, and comes once", async () => {
  await using server = await open({ trustedProxies });
  const socket = await openSocket(server);
  socket.setNoDelay(true);
  for (const byte of Buffer.concat([named, Buffer.from(get())])) {
    socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  expect(seen(await readUntil(socket))).toBe("203.0.113.7");
  const forged = proxyHeader({ addresses: ipv4("198.51.100.1") });
  const twice = await sendBytes(server, Buffer.concat([named, forged, Buffer.from(get())]));
  expect(twice).not.toContain("198.51.100.1");
});

test("a malformed PROXY header, half of one, and silence end the connection without a byte", async () => {
  await using server = await open({ trustedProxies });
  const half = await openSocket(server);
  half.write(named.subarray(0, 20));
  const silent = await openSocket(server);
  const unanswered = Promise.all([readUntil(half), readUntil(silent)]);
  const wrong = proxyHeader({ family: 0x12, addresses: ipv4("203.0.113.7") });
  const text = await sendBytes(server, Buffer.concat([wrong, Buffer.from(get())]));
  expect([text, ...(await unanswered)]).toEqual(["", "", ""]);
  expect(seen(await sendBytes(server, Buffer.concat([named, Buffer.from(get())])))).toBe("203.0.113.7");
});

test("a PROXY header stands in front of TLS", async () => {
  await using certificate = await certificateFor("localhost");
  await using server = await open({ trustedProxies, certificate });
  for (const [header, expected] of [
    [named, "203.0.113.7"],
    [Buffer.alloc(0), "nobody"],
  ] as const) {
    const socket = await openSocket(server);
    socket.write(header);
    const secure = connectTls({ socket, rejectUnauthorized: false });
    secure.write(get());
    expect(seen(await readUntil(secure))).toBe(expected);
  }
});

test("a trusted proxy names each client by x-forwarded-for, over both versions of HTTP", async () => {
  await using server = await open({ trustedProxies });
  const one = async (forwarded?: string) => seen(await sendBytes(server, get(forwarded)));
  expect(await one("203.0.113.7")).toBe("203.0.113.7");
  expect(await one("198.51.100.1, 203.0.113.7, 10.0.0.5")).toBe("203.0.113.7");
  expect(await one()).toBe("nobody");
  const answer = await requestHttp2(server.url, { ":path": "/", "x-forwarded-for": "198.51.100.1, 203.0.113.8" });
  expect(String(answer.body).trim()).toBe("203.0.113.8");
});

const forwardedRows: readonly [written: string | undefined, address: string | undefined][] = [
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7:4711", "203.0.113.7"],
  ["[2001:db8::7]:4711", "2001:db8::7"],
  ["::ffff:203.0.113.7", "::ffff:203.0.113.7"],
  ["::ffff:10.0.0.1", undefined],
  ["203.0.113.7,10.0.0.1 ,\t10.0.0.2", "203.0.113.7"],
  ["fe80::1%eth0, 10.0.0.1", "fe80::1%eth0"],
  [undefined, undefined],
  ["", undefined],
  [",", undefined],
  [",10.0.0.1", undefined],
  ["203.0.113.7,", undefined],
  ["203.0.113.7, unknown", undefined],
  ["203.0.113.7, 10.0.0.256", undefined],
  ["203.0.113.7, 010.0.0.1", undefined],
  ["203.0.113.7, 0x7f.0.0.1", undefined],
  ["203.0.113.7 10.0.0.1", undefined],
  ["10.0.0.1", undefined],
  [`203.0.113.7${", 10.0.0.1".repeat(15)}`, "203.0.113.7"],
  [`203.0.113.7${", 10.0.0.1".repeat(16)}`, undefined],
];

test.each(forwardedRows)("x-forwarded-for: %j", (written, address) => {
  expect(clientAddresses(["10.0.0.0/8"]).forwarded(written)).toBe(address);
});

test("an address of x-forwarded-for that is longer than any is none", () => {
  expect(clientAddresses(["10.0.0.0/8"]).forwarded("1:".repeat(8000))).toBe(undefined);
});

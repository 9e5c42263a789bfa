import { expect, test } from "vitest";
import { extension, ipv4, ipv6, type ProxyHeaderParts, proxyHeader } from "../../../../test/wire/proxy.ts";
import { readProxyHeader } from "../../src/http/proxy_header.ts";

const addresses = ipv4("203.0.113.7");
const right: readonly [name: string, parts: ProxyHeaderParts, client: string | undefined][] = [
  ["of IPv4", { addresses }, "203.0.113.7"],
  ["of IPv6", { family: 0x21, addresses: ipv6(0x2001, 0xdb8, 1, 2, 0, 0, 0, 7) }, "2001:db8:1:2:0:0:0:7"],
  ["of IPv4 within IPv6", { family: 0x21, addresses: ipv6(0, 0, 0, 0, 0, 0xffff, 0xcb00, 0x7107) }, "203.0.113.7"],
  [
    "with extensions",
    { addresses, extensions: Buffer.concat([extension(2, "a.example"), extension(5, "")]) },
    "203.0.113.7",
  ],
  ["of the proxy itself", { command: 0x20, family: 0 }, undefined],
  ["of the proxy itself, with addresses", { command: 0x20, addresses }, undefined],
  ["of the proxy itself, of no known family", { command: 0x20, family: 0x77, addresses: Buffer.alloc(3) }, undefined],
  ["of an unspecified family", { family: 0, extensions: extension(4, "") }, undefined],
  ["of a socket file", { family: 0x31, addresses: Buffer.alloc(216) }, undefined],
];

test.each(right)("a header %s is read, however it arrives", (_, parts, client) => {
  const bytes = proxyHeader(parts);
  const behind = Buffer.concat([bytes, Buffer.from("GET / HTTP/1.1\r\n")]);
  for (let length = 0; length < bytes.length; length++)
    expect(readProxyHeader(behind.subarray(0, length)), String(length)).toBe("incomplete");
  expect(readProxyHeader(bytes)).toEqual({ client, length: bytes.length });
  expect(readProxyHeader(behind)).toEqual({ client, length: bytes.length });
});

const wrong: readonly [name: string, parts: ProxyHeaderParts][] = [
  ["of version 1", { command: 0x11, addresses }],
  ["of version 3", { command: 0x31, addresses }],
  ["with an unknown command", { command: 0x22, addresses }],
  ["of an unknown family", { family: 0x41, addresses }],
  ["of UDP", { family: 0x12, addresses }],
  ["of UDP over IPv6", { family: 0x22, addresses: ipv6() }],
  ["of an unknown transport", { family: 0x13, addresses }],
  ["of datagrams of a socket file", { family: 0x32, addresses: Buffer.alloc(216) }],
  ["of IPv4 without addresses", {}],
  ["of IPv4 with half an address", { addresses: addresses.subarray(0, 11) }],
  ["of IPv6 with addresses of IPv4", { family: 0x21, addresses }],
  ["that is longer than 4096 bytes", { addresses, extensions: Buffer.alloc(4096) }],
  ["that states the largest length", { addresses, length: 65_535 }],
  ["with an extension without a length", { addresses, extensions: Buffer.of(4) }],
  ["with an extension that ends behind the header", { addresses, extensions: Buffer.of(4, 0, 9, 1) }],
];

test.each(wrong)("a header %s is malformed", (_, parts) => {
  expect(readProxyHeader(proxyHeader(parts))).toBe("malformed");
});

test("anything else is no header, from the first byte that differs", () => {
  for (const text of [
    "GET / HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n",
    "PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\n",
    "\r\nGET",
    "\x16\x03\x01",
  ])
    expect(readProxyHeader(Buffer.from(text, "latin1")), text).toBe("absent");
  const header = proxyHeader({ addresses });
  for (let at = 0; at < 12; at++) {
    const broken = Buffer.from(header);
    broken[at] = (broken[at] ?? 0) ^ 1;
    expect(readProxyHeader(broken.subarray(0, at + 1)), String(at)).toBe("absent");
  }
});

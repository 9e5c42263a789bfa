import { expect, test } from "vitest";
import { type Head, readHead } from "../../../src/http/http1/head.ts";

const lines = (...all: string[]) => all.join("\r\n");
const get = "GET /a HTTP/1.1";
const host = "host: a";

test("a head is read with its lower-case names and joined values", () => {
  const head = readHead(lines("POST /a?b=c HTTP/1.1", "Host: a:1", "X-One:  1 ", "x-one:2", "Cookie: a", "cookie: b"));
  expect(head).toMatchObject({ method: "POST", target: "/a?b=c", body: 0, keeps: true, chunks: true, expects: false });
  expect({ ...(head as Head).headers }).toEqual({ host: "a:1", "x-one": "1, 2", cookie: "a; b" });
});

test("the length of a body is read where nobody can doubt it", () => {
  const bodyOf = (...more: string[]) => (readHead(lines(get, host, ...more)) as Head).body;
  expect(bodyOf("content-length: 12")).toBe(12);
  expect(bodyOf("Transfer-Encoding: Chunked")).toBe("chunked");
});

test("a connection goes on unless somebody says otherwise", () => {
  const keeps = (first: string, ...more: string[]) => (readHead(lines(first, host, ...more)) as Head).keeps;
  expect(keeps(get)).toBe(true);
  expect(keeps(get, "connection: upgrade, Close")).toBe(false);
  expect(keeps(get, "connection: enclosed")).toBe(true);
  expect(keeps("GET / HTTP/1.0")).toBe(false);
});

test("HTTP/1.0 need not name a host", () => {
  expect(readHead("GET /a HTTP/1.0")).toMatchObject({ method: "GET", target: "/a", keeps: false, chunks: false });
});

// JavaScript's trim() takes them all away; RFC 9110, 5.5 knows space and tab only.
const blanks = ["\n", "\r", "\v", "\f", "\x1c", "\x85", "\xa0"];

function aroundValues(blank: string): [string, string][] {
  const name = `U+00${blank.charCodeAt(0).toString(16).padStart(2, "0")}`;
  const framing: [string, string][] = [
    [`${name} before a coding`, lines(get, host, `transfer-encoding:${blank}chunked`)],
    [`${name} after a coding`, lines(get, host, `transfer-encoding: chunked${blank}`)],
    [`${name} before a length`, lines(get, host, `content-length:${blank}29`)],
    [`${name} after a length`, lines(get, host, `content-length: 29${blank}`)],
  ];
  // Bytes above 0x7f are text to a field that nobody here frames a request by.
  if (blank > "\x7f") return framing;
  return [
    ...framing,
    [`${name} and a header in a value`, lines(get, host, `x:${blank}content-length: 97`)],
    [`${name} at the end of a value`, lines(get, host, `x: a${blank}`)],
    [`a line end, ${name} and a header in a value`, lines(get, host, `x:\n${blank}content-length: 97`)],
  ];
}

// What one server takes for one request and another for two is how requests are smuggled past the first.
const malformed: Readonly<Record<string, string>> = {
  "two lengths": lines(get, host, "content-length: 5", "content-length: 6"),
  "the same length twice": lines(get, host, "content-length: 5", "content-length: 5"),
  "a length in a list": lines(get, host, "content-length: 5, 5"),
  "a length with a sign": lines(get, host, "content-length: +5"),
  "a length in hexadecimal": lines(get, host, "content-length: 0x5"),
  "a negative length": lines(get, host, "content-length: -1"),
  "an empty length": lines(get, host, "content-length:"),
  "a length and chunks": lines(get, host, "content-length: 5", "transfer-encoding: chunked"),
  "another coding": lines(get, host, "transfer-encoding: gzip, chunked"),
  "chunks twice": lines(get, host, "transfer-encoding: chunked", "transfer-encoding: chunked"),
  "chunks by another spelling": lines(get, host, "transfer-encoding: xchunked"),
  "chunks in HTTP/1.0": lines("POST /a HTTP/1.0", host, "transfer-encoding: chunked"),
  "a space before the colon": lines(get, host, "content-length : 5"),
  "a folded line": lines(get, host, "x-a: b", " c"),
  "a line without a colon": lines(get, host, "hello"),
  "an empty name": lines(get, host, ": b"),
  "a name with a control character": lines(get, host, "x\x01: b"),
  "a value with a bare carriage return": lines(get, host, "x: a\rb"),
  "a value with a bare line feed": lines(get, host, "x: a\nb: c"),
  "a value with U+0000": lines(get, host, "x: a\0b"),
  ...Object.fromEntries(blanks.flatMap(aroundValues)),
  "no host": get,
  "a host behind U+00A0": lines(get, "host: \xa0a"),
  "a host with a space": lines(get, "host: a b"),
  "two hosts": lines(get, host, "Host: b"),
  "two hosts in HTTP/1.0": lines("GET /a HTTP/1.0", host, "Host: b"),
  "two spaces": lines("GET  /a HTTP/1.1", host),
  "a tab for a space": lines("GET\t/a HTTP/1.1", host),
  "no version": lines("GET /a", host),
  "another version": lines("GET /a HTTP/2.0", host),
  "a version to come": lines("GET /a HTTP/1.2", host),
  "a target with a space": lines("GET /a b HTTP/1.1", host),
  "a target beyond ASCII": lines("GET /\xe4 HTTP/1.1", host),
  "a method with a colon": lines("G:T /a HTTP/1.1", host),
  "nothing at all": "",
};

test.each(Object.entries(malformed))("%s is malformed", (_, text) => {
  expect(readHead(text)).toMatchObject({ flaw: "MALFORMED_REQUEST" });
});

test("spaces and tabs around a value are cut, and nothing else", () => {
  const head = readHead(lines(get, host, "x-a: \t a b\t ", "x-b:\xa0c\xa0", "content-length: \t5 ")) as Head;
  expect(head).toMatchObject({ body: 5, headers: { "x-a": "a b", "x-b": "\xa0c\xa0" } });
});

test("64 headers are enough", () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `x-${index}: 1`);
  expect(readHead(lines(get, host, ...many(63)))).toMatchObject({ method: "GET" });
  const tooMany = readHead(lines(get, host, "accept-language: de", ...many(63)));
  expect(tooMany).toMatchObject({ flaw: "HEADERS_TOO_LARGE", headers: { "accept-language": "de" } });
});

test("names that objects have of themselves are names like any other", () => {
  const { headers } = readHead(lines(get, host, "__proto__: a", "constructor: b")) as Head;
  expect(headers.constructor).toBe("b");
  expect(Object.keys(headers)).toEqual(["host", "__proto__", "constructor"]);
});

import { describe, expect, test } from "vitest";
import type { ResponseFields } from "../../../src/http/exchange.ts";
import { Decoder } from "../../../src/http/http2/hpack/decoder.ts";
import { Encoder, maxEncodedBytes } from "../../../src/http/http2/hpack/encoder.ts";
import { decodeHuffman } from "../../../src/http/http2/hpack/huffman.ts";
import { ConnectionError, ErrorCode } from "../../../src/http/http2/rfc9113.ts";
import { seeded } from "./seeded.ts";

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(/\s/g, ""), "hex");

function read(decoder: Decoder, bytes: Buffer): string[] {
  const fields: string[] = [];
  decoder.decode(
    bytes,
    { start: 0, end: bytes.length },
    { add: (name, value) => void fields.push(`${name}: ${value}`) },
  );
  return fields;
}

const request = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
const custom = [
  ...[":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com"],
  "custom-key: custom-value",
];
const dated = (at: string) => ["cache-control: private", `date: Mon, 21 Oct 2013 20:13:${at} GMT`];
const moved = (status: string) => [`:status: ${status}`, ...dated("21"), "location: https://www.example.com"];
const cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
const found = [":status: 200", ...dated("22"), "location: https://www.example.com"];
const third = [...found, "content-encoding: gzip", cookie];
// The table of 256 bytes of C.5 and C.6 is chosen by the encoder.
const small = "3fe101";

// RFC 7541, appendix C.
const examples: readonly (readonly [name: string, blocks: readonly (readonly [hex: string, fields: string[]])[]])[] = [
  ["C.2.1", [["400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", ["custom-key: custom-header"]]]],
  ["C.2.2", [["040c 2f73 616d 706c 652f 7061 7468", [":path: /sample/path"]]]],
  ["C.2.3", [["1008 7061 7373 776f 7264 0673 6563 7265 74", ["password: secret"]]]],
  ["C.2.4", [["82", [":method: GET"]]]],
  [
    "C.3",
    [
      ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", request],
      ["8286 84be 5808 6e6f 2d63 6163 6865", [...request, "cache-control: no-cache"]],
      ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", custom],
    ],
  ],
  [
    "C.4",
    [
      ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", request],
      ["8286 84be 5886 a8eb 1064 9cbf", [...request, "cache-control: no-cache"]],
      ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", custom],
    ],
  ],
  [
    "C.5",
    [
      [
        `${small} 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32
         3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        moved("302"),
      ],
      ["4803 3330 37c1 c0bf", moved("307")],
      [
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31`,
        third,
      ],
    ],
  ],
  [
    "C.6",
    [
      [
        `${small} 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
         1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        moved("302"),
      ],
      ["4883 640e ffc1 c0bf", moved("307")],
      [
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
         dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
        third,
      ],
    ],
  ],
];

test.each(examples)("the examples of RFC 7541, %s, are read", (_, blocks) => {
  const decoder = new Decoder();
  for (const [hex, fields] of blocks) expect(read(decoder, bytesOf(hex))).toEqual(fields);
});

test.each([
  ["index 0", "80"],
  ["an index beyond the static table", "be"],
  ["an index far beyond", "ffffff03"],
  ["the name of an index that is not there", "7f0001 61"],
  ["a number without an end", "ffffffffffffffff"],
  ["a number that is cut off", "ff"],
  ["a name that is cut off", "40 05 6162"],
  ["a value that is cut off", "40 01 61 05 6162"],
  ["a value that is missing", "40 01 61"],
  ["a length without a text", "40"],
  ["a table larger than allowed", "3fe21f"],
  ["a table resized after a field", "82 20"],
  ["a table resized three times", "20 3f 01 20 82"],
  ["padding of a whole byte", "00 01 61 82 07ff"],
  ["padding of zeros", "00 01 61 81 1c"],
  ["the end of a string within it", "00 01 61 84 ffffffff"],
  ["a code that ends within a character", "00 01 61 81 fe"],
])("%s ends the connection", (_, hex) => {
  const reading = () => read(new Decoder(), bytesOf(hex));
  expect(reading).toThrow(ConnectionError);
  expect(reading).toThrow(expect.objectContaining({ code: ErrorCode.COMPRESSION_ERROR }));
});

test("a field that is larger than the table empties it", () => {
  const decoder = new Decoder();
  read(decoder, bytesOf("4001610162"));
  expect(read(decoder, bytesOf("be"))).toEqual(["a: b"]);
  const long = Buffer.alloc(5000, "x");
  read(decoder, Buffer.concat([bytesOf("4001617f"), Buffer.of(0x89, 0x26), long]));
  expect(() => read(decoder, bytesOf("be"))).toThrow(ConnectionError);
});

test("every character has a code of its own, found at the place of its length", () => {
  // "a" is 00011 and "?" is 1111111100, filled up with ones.
  expect(decodeHuffman(bytesOf("1f"), 0, 1)).toBe("a");
  expect(decodeHuffman(bytesOf("ff3f"), 0, 2)).toBe("?");
  expect(decodeHuffman(bytesOf(""), 0, 0)).toBe("");
});

/** Bytes to write into, far too many. */
const ink = () => ({ bytes: Buffer.alloc(100_000), at: 0 });

function write(encoder: Encoder, status: number, fields: ResponseFields): Buffer {
  const into = ink();
  encoder.status(status, into);
  encoder.fields(fields, into);
  expect(into.at).toBeLessThanOrEqual(maxEncodedBytes(fields));
  return into.bytes.subarray(0, into.at);
}

const shown = (status: number, fields: ResponseFields) => [
  `:status: ${status}`,
  ...Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}`)),
];

describe("what is written is read the same", () => {
  const random = seeded(1);
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  const text = () => String.fromCharCode(...Array.from({ length: random(300) }, () => 32 + random(95)));
  const names = ["content-type", "grpc-status", "x-request-id", "vary", "x-a", "x-b", "date", "set-cookie"];
  const values = ["", "0", "application/grpc", "é", ...Array.from({ length: 20 }, text)];
  const some = () =>
    Object.fromEntries(
      Array.from({ length: random(8) }, () => [pick(names), random(5) ? pick(values) : [pick(values), pick(values)]]),
    );

  test("whatever was written before, and however the table is resized", () => {
    const [encoder, decoder] = [new Encoder(), new Decoder()];
    for (let round = 0; round < 3000; round += 1) {
      const [status, fields] = [pick([200, 204, 404, 418, 503]), some()];
      expect(read(decoder, write(encoder, status, fields))).toEqual(shown(status, fields));
      if (random(50) === 0) encoder.resize(pick([0, 40, 100, 4096, 1_000_000]));
    }
  });

  test("a block that could not be written does no harm to the next one", () => {
    const [encoder, decoder] = [new Encoder(), new Decoder()];
    expect(() => write(encoder, 200, { "x-new": "a", bad: "a\nb" })).toThrow(TypeError);
    encoder.restart();
    for (const value of ["a", "b", "a"])
      expect(read(decoder, write(encoder, 200, { "x-new": value }))).toEqual([":status: 200", `x-new: ${value}`]);
  });
});

test.each([
  ["a line break", { a: "b\r\nc: d" }],
  ["a zero", { a: "\0" }],
  ["a character of two bytes", { a: "€" }],
  ["a capital in a name", { A: "b" }],
  ["a space in a name", { "a b": "c" }],
  ["an empty name", { "": "a" }],
  ["a pseudo-header field of a request", { ":path": "/" }],
  ["a second status", { ":status": "200" }],
  ["a pseudo-header field of no table", { ":other": "a" }],
])("%s is never sent", (_, fields) => {
  expect(() => write(new Encoder(), 200, fields)).toThrow(TypeError);
});

test("a line break is never sent, also after a field of the same name", () => {
  const encoder = new Encoder();
  write(encoder, 200, { "x-a": "b", vary: "origin" });
  expect(() => write(encoder, 200, { "x-a": "b\r\nc: d" })).toThrow(TypeError);
  expect(() => write(encoder, 200, { vary: "a\r\nc: d" })).toThrow(TypeError);
});

test("what is said again takes a byte for each field", () => {
  const encoder = new Encoder();
  const fields = { "content-type": "application/grpc", "cache-control": "no-store" };
  expect(write(encoder, 200, fields).length).toBeGreaterThan(20);
  expect(write(encoder, 200, fields).length).toBe(3);
});

test("a client that has no room is sent everything in full, after its table is resized", () => {
  const encoder = new Encoder();
  encoder.resize(0);
  const first = write(encoder, 200, { "x-a": "b" });
  expect(first.subarray(0, 2)).toEqual(bytesOf("2020"));
  expect(write(encoder, 200, { "x-a": "b" })).toEqual(first.subarray(2));
});

test("random bytes are read or refused, and nothing else happens", () => {
  const random = seeded(7);
  let refused = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const bytes = Buffer.from(Array.from({ length: 1 + random(40) }, () => random(256)));
    try {
      read(new Decoder(), bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(ConnectionError);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(10_000);
});

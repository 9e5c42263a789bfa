import { type Draw, noise, once, oneOf } from "../http2/fuzz/field_block.ts";
import { seeded } from "../http2/seeded.ts";

// Closes the connection where it is understood as a request; elsewhere the servers' time-outs do.
const last = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/** The bytes of the sequence of a seed: requests in a pipeline, in forms that two servers might read differently. */
export function bytesOf(seed: number): Buffer {
  const draw = seeded(seed);
  const requests = Array.from({ length: 1 + draw(3) }, (_, at) => request(draw, at));
  return flipped(draw, Buffer.from(requests.join("") + last, "latin1"));
}

function flipped(draw: Draw, bytes: Buffer): Buffer {
  if (!once(draw, 3)) return bytes;
  const at = draw(bytes.length);
  return oneOf(draw, [
    () => Buffer.concat([bytes.subarray(0, at), Buffer.of((bytes[at] ?? 0) ^ (1 << draw(8))), bytes.subarray(at + 1)]),
    () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
    () => Buffer.concat([bytes.subarray(0, at), Buffer.of(oneOf(draw, oddBytes)), bytes.subarray(at)]),
    () => Buffer.concat([bytes.subarray(0, at), noise(draw, draw(4)), bytes.subarray(at)]),
  ] as const)();
}

const oddBytes = [0, 9, 10, 11, 12, 13, 32, 44, 58, 59, 0x85, 0xa0] as const;

/** Mostly the common form, at times one of the others. */
const rarely = <T>(draw: Draw, usual: T, others: readonly [T, ...T[]]): T =>
  once(draw, 6) ? oneOf(draw, others) : usual;

function request(draw: Draw, at: number): string {
  const body = oneOf(draw, [
    "",
    "hello",
    `GET /inner${at} HTTP/1.1\r\nHost: a\r\n\r\n`,
    "0\r\n\r\n",
    "5\r\nabcde\r\n0\r\n\r\n",
  ]);
  const isChunked = once(draw, 2);
  const sent = isChunked ? chunked(draw, body) : body;
  const fields = [hostField(draw), ...framing(draw, isChunked, body), ...others(draw)];
  const end = rarely(draw, "\r\n", ["\n", "\r", "\r\r\n", " \r\n"]);
  return `${requestLine(draw, at)}${fields.map((field) => field + rarely(draw, "\r\n", ["\n", end])).join("")}${end}${sent}`;
}

function requestLine(draw: Draw, at: number): string {
  const method = oneOf(draw, ["GET", "POST", "PUT", "DELETE", "OPTIONS", "X-ODD", "post"]);
  const target = rarely(draw, `/r${at}`, ["*", "http://b/x", "//x", "", "/a b", "/%zz", "/a#b", "x", "/\x80", "/a\tb"]);
  const version = rarely(draw, "HTTP/1.1", [
    "HTTP/1.0",
    "HTTP/1.2",
    "http/1.1",
    "HTTP/2.0",
    "HTTP/01.1",
    "",
    "HTTP/1.1 ",
  ]);
  const space = rarely(draw, " ", ["  ", "\t", "\v"]);
  const before = once(draw, 20) ? oneOf(draw, ["\r\n", "\n", " ", "\r\n\r\n"]) : "";
  return `${before}${method}${space}${target}${space}${version}${rarely(draw, "\r\n", ["\n", "\r"])}`;
}

const hostField = (draw: Draw) =>
  rarely(draw, "Host: a", ["Host: a\r\nHost: b", "Host:", "Host : a", "host: a:80", "X: y"]);

/** Content-Length and Transfer-Encoding, alone and together, right and wrong. */
function framing(draw: Draw, isChunked: boolean, body: string): string[] {
  const length = lengthField(draw, body.length);
  const coding = codingField(draw);
  if (once(draw, 10)) return once(draw, 2) ? [length, coding] : [coding, length];
  if (isChunked) return [coding];
  return body.length === 0 && once(draw, 2) ? [] : [length];
}

function lengthField(draw: Draw, length: number): string {
  const name = rarely(draw, "Content-Length", [
    "content-length",
    "Content-Length ",
    "Content_Length",
    " Content-Length",
  ]);
  const value = rarely(draw, String(length), [
    ...([`+${length}`, `0${length}`, `${length}, ${length}`, `${length} `, `\t${length}`, `0x${length}`] as const),
    ...([
      `${length}\v`,
      `${length}\xa0`,
      "-1",
      "",
      `${length}\r\nContent-Length: ${length}`,
      "99999999999999999999",
    ] as const),
    ...([`${length}\r\nContent-Length: ${length + 1}`, String(length + 3), `${length};`, `${length}.0`] as const),
  ] as unknown as readonly [string, ...string[]]);
  return `${name}:${rarely(draw, " ", ["", "\t", "  ", "\v", "\r\n "])}${value}`;
}

function codingField(draw: Draw): string {
  const name = rarely(draw, "Transfer-Encoding", [
    "transfer-encoding",
    "Transfer-Encoding ",
    "Transfer_Encoding",
    "\tTransfer-Encoding",
  ]);
  const value = rarely(draw, "chunked", [
    ...([
      "Chunked",
      "chunked, chunked",
      "gzip, chunked",
      "chunked, gzip",
      "identity",
      "chunked;q=1",
      "xchunked",
    ] as const),
    ...(["chunked ", "chunked\t", "chunked\v", "\xa0chunked", ",chunked", "chunked,", '"chunked"', ""] as const),
    ...(["chunked\r\nTransfer-Encoding: chunked", "identity\r\nTransfer-Encoding: chunked", "chun\r\n ked"] as const),
  ] as unknown as readonly [string, ...string[]]);
  return `${name}:${rarely(draw, " ", ["", "\t", "\v", "\f", "\r\n "])}${value}`;
}

function others(draw: Draw): string[] {
  return Array.from({ length: draw(3) }, () =>
    oneOf(draw, [
      ...(["Accept: */*", "X-A: b", "Connection: keep-alive", "Connection: close", "Expect: 100-continue"] as const),
      ...([
        "Upgrade: h2c\r\nConnection: upgrade",
        "X: a\r\n folded",
        "X-Empty:",
        "X-Latin: \xe9",
        "Cookie: a=b",
      ] as const),
      ...(["Bad Name: a", ": a", "NoColon", "X:\0", "X: \r", "TE: trailers", "Trailer: X-T", "Keep-Alive: 5"] as const),
    ] as unknown as readonly [string, ...string[]]),
  );
}

function chunked(draw: Draw, body: string): string {
  const end = () => rarely(draw, "\r\n", ["\n", "\r", "", " \r\n", "\r\n\r\n"]);
  const cut = draw(body.length + 1);
  const parts = [body.slice(0, cut), body.slice(cut)].filter((part) => part.length > 0);
  const chunks = parts.map((part) => `${size(draw, part.length)}${extension(draw)}${end()}${part}${end()}`);
  const trailers = rarely(draw, "", ["X-T: a\r\n", "Content-Length: 5\r\n", "bad trailer\r\n", " x\r\n"]);
  return `${chunks.join("")}${rarely(draw, "0", ["00", "0000000000000000000", "0x0", ""])}${extension(draw)}${end()}${trailers}${end()}`;
}

const size = (draw: Draw, length: number) =>
  rarely(draw, length.toString(16), [
    ...([
      `0${length.toString(16)}`,
      `0x${length.toString(16)}`,
      `+${length}`,
      ` ${length}`,
      `${length} `,
      "-1",
    ] as const),
    ...([
      length.toString(16).toUpperCase(),
      "g",
      "",
      "ffffffffffffffff",
      `1${"0".repeat(16)}`,
      String(length + 1),
    ] as const),
  ] as unknown as readonly [string, ...string[]]);

const extension = (draw: Draw) =>
  rarely(draw, "", [
    ";a=b",
    ";",
    ";a",
    " ;a=b",
    "; a = b",
    ';a="b;c"',
    ";a=\n",
    ";a=\r",
    ';a="\r\n"',
    `;${"x".repeat(300)}`,
  ]);

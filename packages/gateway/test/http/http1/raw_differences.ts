/** A response that differs from the record, which our former parser made, and the reason. */
export type Difference = { readonly reason: string; readonly received: readonly string[] };

const refused = [
  "HTTP/1.1 400 Bad Request",
  "content-length: 28",
  "connection: close",
  "",
  '{"flaw":"MALFORMED_REQUEST"}',
];

const echoed = (body: string, ...more: string[]) => [
  "HTTP/1.1 200 OK",
  "content-type: application/json",
  `content-length: ${body.length}`,
  ...more,
  "",
  body,
];
const last = (body: string) => echoed(body, "connection: close");
const served = (body: string) => {
  const lines = echoed(body, "connection: keep-alive", "keep-alive: timeout=60");
  const probed = ["content-length: 12", "connection: close", "", "still served"];
  return [...lines.slice(0, -1), `${lines.at(-1)}HTTP/1.1 200 OK`, ...probed];
};

const chunked = (body: string) =>
  `{"method":"POST","target":"/a","authority":"a","headers":{"host":"a","transfer-encoding":"chunked"},"body":"${body}"}`;

const tunnel = "a tunnel would follow: no body is read, and the connection ends with the answer";
const method = "llhttp knows the registered methods, and theirs is the only spelling";
const form = "llhttp takes the forms of RFC 9112, 3.2 only; every path here began with a slash anyhow";
const once = "two readers could take one value or the other";
const stricter = "llhttp is stricter about it, and no client sends it";
const size = "llhttp counts the value of a size, which fits 64 bits, not its digits";
const bounded = "llhttp bounds the bytes of all of them, not each of them or their number";

/** The conversations that differ from the record, by their names. */
export const differences: Readonly<Record<string, Difference>> = {
  "CONNECT by an authority": {
    reason: tunnel,
    received: last('{"method":"CONNECT","target":"a:443","authority":"a:443","headers":{"host":"a:443"},"body":""}'),
  },
  "CONNECT with a path": {
    reason: tunnel,
    received: last('{"method":"CONNECT","target":"/a","authority":"a","headers":{"host":"a"},"body":""}'),
  },
  "CONNECT with a body": {
    reason: tunnel,
    received: last(
      '{"method":"CONNECT","target":"a:443","authority":"a:443","headers":{"host":"a:443","content-length":"5"},"body":""}',
    ),
  },
  "a method of a service": { reason: method, received: refused },
  "a method in small letters": { reason: method, received: refused },
  "a method of all signs of a token": { reason: method, received: refused },
  "a method of 300 letters": { reason: method, received: refused },
  "a target that is no path": { reason: form, received: refused },
  "a target that is a query": { reason: form, received: refused },
  "PRI in HTTP/1.1": { reason: "llhttp keeps the name for the preface of HTTP/2", received: refused },
  "two authorizations": { reason: once, received: refused },
  "two content types": { reason: once, received: refused },
  "a tab around a coding": { reason: stricter, received: refused },
  "a size before a space": { reason: stricter, received: refused },
  "a size before a tab": { reason: stricter, received: refused },
  "an extension beyond ASCII": { reason: stricter, received: refused },
  "a trailer that is a length": { reason: stricter, received: refused },
  "a size of nine digits": { reason: size, received: served(chunked("hello")) },
  "an extension of 300 bytes": { reason: bounded, received: served(chunked("hello")) },
};

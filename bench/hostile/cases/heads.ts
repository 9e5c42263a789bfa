import { setTimeout as pause } from "node:timers/promises";
import { newToken } from "../../../src/security/token.ts";
import { get, rest } from "../calls.ts";
import { type Case, ofCall } from "../case.ts";
import { begin, type Client, isOver, open, paced } from "../client.ts";
import { openHttp1, requestBytes } from "../http1.ts";
import { openHttp2 } from "../http2.ts";

const empty = new Uint8Array();

/** Sends bytes on a connection of its own, again and again, and waits a moment for its end. */
function onNewConnections(name: string, parts: readonly (readonly string[])[], waitMs = 500): Case {
  return {
    name,
    caller: "unknown",
    async run(client) {
      for (let n = 0; !isOver(client); n += 1) await once(client, parts[n % parts.length] ?? [], waitMs);
      return 0;
    },
  };
}

async function once(client: Client, parts: readonly string[], waitMs: number): Promise<void> {
  using wire = await open(client);
  const done = begin(client, parts.join("").length);
  for (const [n, part] of parts.entries()) {
    if (n > 0) await pause(50);
    await wire.write(Buffer.from(part, "latin1"));
  }
  const timer = new AbortController();
  const waiting = pause(waitMs, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([wire.closed, waiting]);
  timer.abort();
  done();
}

const chunked = "Transfer-Encoding: chunked\r\n\r\n";
const json = "Content-Type: application/json\r\n";

const loops: readonly Case[] = [
  onNewConnections("a bad chunk after an early answer, two packets", [
    [`POST /nope HTTP/1.1\r\nHost: a\r\n${chunked}`, "Z\r\n"],
  ]),
  onNewConnections("a bad chunk after an early answer, one packet", [
    [`POST /v1/sessions HTTP/1.1\r\nHost: a\r\n${json}Content-Encoding: foo\r\n${chunked}ZZ\r\n`],
  ]),
  onNewConnections("a bad chunk, bad trailers, and sizes that are none", [
    [`POST /v1/sessions HTTP/1.1\r\nHost: a\r\n${json}${chunked}FFFFFFFFF\r\n`],
    [`POST /v1/sessions HTTP/1.1\r\nHost: a\r\n${json}${chunked}0\r\nbad trailer\r\n\r\n`],
    [`POST /nope HTTP/1.1\r\nHost: a\r\n${chunked}1\r\naXX`],
    [`POST /nope HTTP/1.1\r\nHost: a\r\n${chunked}`, "0\r\nbad trailer\r\n\r\n"],
  ]),
];

const smuggled = ["X:\nContent-Length: 97", "Content-Length:\x0b29", "Content-Length: 29\xa0", "X: a\n"];
const coded = ["Transfer-Encoding:\x0bchunked", "Transfer-Encoding: \xa0chunked", "Transfer-Encoding: gzip, chunked"];

const smuggling = onNewConnections(
  "header values that two servers read differently",
  [...smuggled, ...coded].map((line) => [`POST /v1/sessions HTTP/1.1\r\nHost: a\r\n${line}\r\n\r\n`]),
  100,
);

const wide =
  (name: string, value: string, path = "/v1/users/me") =>
  () =>
    get(path, { [name]: value });
const about16 = 15_800;

const headers: readonly Case[] = [
  ofCall("60 headers of 16 KB", () =>
    get("/v1/users/me", Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`x-${n}`, "a".repeat(250)]))),
  ),
  ofCall("headers of 16 KB, each time others", () => ({
    ...get("/v1/users/me"),
    changing: () => ({ "x-a": `${Math.random()}${"a".repeat(about16)}` }),
  })),
  ofCall("headers of 17 KB", wide("x-a", "a".repeat(17_000))),
  ofCall("accept-language of 16 KB", wide("accept-language", "a,".repeat(about16 / 2))),
  ofCall("accept-encoding of 16 KB", wide("accept-encoding", "a,".repeat(about16 / 2), "/openapi.json"), {
    documents: true,
  }),
  ofCall("if-none-match of 16 KB", wide("if-none-match", "a,".repeat(about16 / 2), "/healthz")),
  ofCall("a content type of 16 KB", () => ({
    ...rest("/v1/sessions", { bytes: Buffer.from("{}") }),
    headers: { "content-type": `application/json;${" ;".repeat(about16 / 2)}` },
  })),
  ofCall("a content type of 16 KB, gRPC-Web", () => ({
    ...rest("/postern.v1.SessionService/CreateSession", { bytes: Buffer.from("{}") }),
    headers: { "content-type": `application/grpc-web-text+proto${";a=b".repeat(about16 / 4)}` },
  })),
  ofCall("an authorization of 16 KB", wide("authorization", `Bearer ${"a".repeat(about16)}`)),
  ofCall("an authorization of 16 KB of spaces", wide("authorization", `Bearer${" ".repeat(about16)}\x7f`)),
  ofCall("a path of 16 KB", () => get(`/v1/${"a/".repeat(about16 / 2)}`)),
  ofCall("a path of 16 KB of escapes", () => get(`/v1/users/${"%41".repeat(about16 / 3)}`)),
  ofCall("a path of 16 KB of colons", () => get(`/v1/users/${"a:".repeat(about16 / 2)}`)),
  ofCall("a query of 16 KB of unknown names", () =>
    get(`/v1/users?${Array.from({ length: 2000 }, (_, n) => `a${n}=1`).join("&")}`),
  ),
  ofCall("a query of 16 KB of one name", () => get(`/v1/events?${"types=&".repeat(about16 / 7)}`)),
  ofCall("a query of 16 KB of dots", () => get(`/v1/users?${"a.".repeat(about16 / 2)}=1`)),
  ofCall("a CORS preflight of 16 KB", () => ({
    ...get("/v1/users", {
      origin: "https://app.example.com",
      "access-control-request-method": "POST",
      "access-control-request-headers": "a,".repeat(about16 / 2),
    }),
    method: "OPTIONS",
  })),
];

const tokens: readonly Case[] = [
  ofCall("no token", () => get("/v1/users/me")),
  ofCall("a malformed token", wide("authorization", "Bearer pt_x")),
  ofCall("tokens of another issuer, each time another", () => changing(() => `x${newToken("pt").slice(3)}`)),
  ofCall("well-formed tokens, each time another", () => changing(() => newToken("pt"))),
  ofCall("one well-formed token", () => get("/v1/users/me", { authorization: `Bearer ${newToken("pt")}` })),
];

const changing = (token: () => string) => ({
  ...get("/v1/users/me"),
  changing: () => ({ authorization: `Bearer ${token()}` }),
});

const storms: readonly Case[] = [
  {
    name: "connections that say nothing, one after the other",
    caller: "unknown",
    run: (client) => oneByOne(client, async () => void (await open(client))[Symbol.dispose]()),
  },
  {
    name: "connections of HTTP/1.1 with one request each",
    caller: "unknown",
    run: (client) =>
      oneByOne(client, async () => {
        using connection = await openHttp1(client);
        await connection.exchange(requestBytes(client, { method: "GET", path: "/healthz", headers: {}, body: empty }));
      }),
  },
  {
    name: "connections of HTTP/2 that say hello",
    caller: "unknown",
    run: (client) =>
      oneByOne(client, async () => {
        using connection = await openHttp2(client);
        await pause(1);
        connection.wire.socket.end();
      }),
  },
  {
    name: "2,000 heads that come byte by byte",
    caller: "unknown",
    holds: true,
    run: dribbledHeads,
  },
];

async function oneByOne(client: Client, connect: () => Promise<void>): Promise<number> {
  while (!isOver(client)) {
    await paced(client);
    const done = begin(client, 0);
    await connect();
    done();
  }
  return 0;
}

async function dribbledHeads(client: Client): Promise<number> {
  const wires = await Promise.all(Array.from({ length: 2000 }, () => open(client)));
  const ends = wires.map(() => begin(client, 0));
  for (const wire of wires) await wire.write("GET /healthz HTTP/1.1\r\nHost: a\r\nX: ");
  while (!isOver(client)) {
    for (const wire of wires) await wire.write("a");
    await pause(200);
  }
  for (const end of ends) end();
  for (const wire of wires) wire[Symbol.dispose]();
  return 0;
}

/** Heads, connections and tokens. */
export const headCases: readonly Case[] = [...loops, smuggling, ...headers, ...tokens, ...storms];

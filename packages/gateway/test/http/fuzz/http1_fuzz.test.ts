import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GoServer, hasGo, startGo } from "./go_server.ts";
import { startOwn } from "./http1_outcome.ts";
import { findings, type Ports, tried } from "./http1_runner.ts";

if (!hasGo) console.log("skipped: HTTP/1.1 beside Go's net/http, for here `go version` does not run");

// Requests that front and back ends have taken apart differently.
const shapes: Readonly<Record<string, string>> = {
  "a length and chunks": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
  "chunks and a length": "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG",
  "two lengths": "Content-Length: 0\r\nContent-Length: 44\r\n\r\n",
  "a vertical tab before a coding": "Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n",
  "a line feed within a value": "X:\nContent-Length: 97\r\n\r\n",
  "a space before a colon": "Content-Length : 44\r\n\r\n",
  "a folded line": "X: a\r\n Content-Length: 44\r\n\r\n",
  "a line feed behind a chunk": "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
  "a line feed in a chunk extension": "Transfer-Encoding: chunked\r\n\r\n5;a=\n\r\nhello\r\n0\r\n\r\n",
  "a tab behind a coding, and an upgrade":
    "Transfer-Encoding: chunked\t\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  "a chunk size that overflows": "Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
};

describe.skipIf(!hasGo)("what is one request here is not two to Go", () => {
  let go: GoServer;
  let own: Awaited<ReturnType<typeof startOwn>>;
  let ports: Ports;
  const faults: unknown[] = [];

  beforeAll(async () => {
    go = await startGo();
    own = await startOwn((error) => void faults.push(error));
    ports = { own: Number(new URL(own.url).port), go: go.port };
  });
  afterAll(async () => {
    await own?.[Symbol.asyncDispose]();
    await go?.[Symbol.asyncDispose]();
    expect(faults).toEqual([]);
  });

  test.each(Object.entries(shapes))("%s", async (_, rest) => {
    const next = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    expect(await tried(ports, Buffer.from(`POST /r HTTP/1.1\r\nHost: a\r\n${rest}${next}`, "latin1"))).toBeUndefined();
  });

  test.each([1, randomInt(2 ** 31)])("from seed %i on", async (seed) => {
    expect([...(await findings(ports, seed, 3000))], `npm run fuzz:http1 -- --seed ${seed}`).toEqual([]);
  });
});

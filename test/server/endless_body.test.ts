import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { freshDatabase } from "../database.ts";
import { startChild } from "../fixture/child_server.ts";

const unknownPath = "POST /nope HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const refusedByHeaders = [
  "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json",
  "Content-Encoding: foo\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
].join("\r\n");

// In a process of its own: an endless loop would take the test with it, and its time-out.
test("a body that turns malformed after its answer ends its connection, and nobody else's", async () => {
  await using opened = new AsyncDisposableStack();
  const { url: databaseUrl } = opened.use(await freshDatabase());
  const dataDir = await mkdtemp(join(tmpdir(), "postern-data-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const server = opened.use(
    await startChild({ ...readConfig({}), databaseUrl, dataDir, masterKeys: [randomBytes(32)] }),
  );
  const twoPackets = await talk(server.url, [unknownPath, "Z\r\n"]);
  expect(twoPackets).toMatch(/^HTTP\/1\.1 404 /);
  expect(await talk(server.url, [refusedByHeaders])).toMatch(/^HTTP\/1\.1 415 /);
  expect(await talk(server.url, [`${unknownPath}5\r\nhello`, "\r\nnonsense\r\n"])).toMatch(/^HTTP\/1\.1 404 /);
  const health = await fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(30_000) });
  expect(health.status).toBe(200);
  server.signal("SIGTERM");
  const [code] = await server.exited;
  expect(code).toBe(0);
});

/** Sends each piece once the one before was answered or a moment has passed, and collects what comes back until the end. */
async function talk(url: string, pieces: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  let heard = "";
  const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("data", (part) => {
    heard += part.toString("latin1");
  });
  for (const piece of pieces) {
    socket.write(piece);
    for (let waited = 0; waited < 200 && !/\r\n\r\n/.test(heard) && !socket.destroyed; waited += 1) await sleep(50);
  }
  await Promise.race([ended, sleep(20_000, undefined, { ref: false })]);
  expect(socket.destroyed, "the connection ended").toBe(true);
  return heard;
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readInPieces } from "../../../src/postgres/pool/link.ts";

const bytes = 8_000_000;
const server = `require("node:net").createServer((peer) => peer.end(Buffer.alloc(${bytes})))
  .listen(process.argv[1], () => console.log("listening"))`;

test("a large answer is read in parts, between which others have the event loop", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-link-"));
  const path = join(folder, "socket");
  // A process of its own, which fills the socket while it is read.
  const child = spawn(process.execPath, ["-e", server, path], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const socket = dial(path);
  readInPieces(socket, { share: ["an organization", "a caller"] });
  let [parts, most, read] = [0, 0, 0];
  socket.on("data", (part) => {
    parts += 1;
    read += part.length;
    // As long as rows take to be decoded.
    const until = performance.now() + 2;
    while (performance.now() < until);
  });
  let isOver = false;
  socket.once("close", () => (isOver = true));
  while (!isOver) {
    await new Promise(setImmediate);
    most = Math.max(most, parts);
    parts = 0;
  }
  child.kill();
  await rm(folder, { recursive: true });
  expect(read).toBe(bytes);
  expect(most).toBeLessThanOrEqual(2);
});

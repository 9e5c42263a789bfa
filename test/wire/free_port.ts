import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// The processes of a test run do not give out each other's ports, nor one its own twice: those who ask may listen much later.
const range = 2_000;
const least = 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 11) * range;
const given = new Set<number>();

/**
 * A port that nobody listens on at the moment. It is none of those that the system gives to clients: while a node that is
 * started again is away, a client may get its port, or even call itself from it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(least, least + range);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.on("error", () => resolve(false)).listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

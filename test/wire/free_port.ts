import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A port that nobody listens on at the moment. It is none of those that the system gives to clients: while a node that is
 * started again is away, a client may get its port, or even call itself from it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.on("error", () => resolve(false)).listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

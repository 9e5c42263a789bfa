import { readFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { certificateFor } from "../wire/certificate.ts";

/** The networks of servers of this machine. */
export const loopback = ["127.0.0.0/8", "::1"];

/** A server with a certificate of its own, which `outgoingCaFile` trusts. */
export async function serve(listener: RequestListener) {
  await using opened = new AsyncDisposableStack();
  const { certFile, keyFile } = opened.use(await certificateFor("localhost"));
  const server = createServer({ cert: await readFile(certFile), key: await readFile(keyFile) }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.defer(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  opened.defer(() => server.closeAllConnections());
  const stack = opened.move();
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  return { url, outgoingCaFile: certFile, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

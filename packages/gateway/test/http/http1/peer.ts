import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type ConnectionLimits, type Connections, openConnections } from "../../../src/http/connections.ts";
import type { Exchange } from "../../../src/http/exchange.ts";

/** The limits of a connection in these tests. */
export const limits: ConnectionLimits = {
  streamsMax: 100,
  headersMaxBytes: 4096,
  messageMaxBytes: 100_000,
  headerTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  connectionAgeMs: 0,
  bodiesMaxBytes: 67_108_864,
  unknownStreamsMax: 100_000,
};

/** A server of HTTP/1.1 alone. */
export type Served = AsyncDisposable & { readonly port: number; readonly sessions: Connections };

/** Serves exchanges on a port of their own, and fails on an error of ours. */
export async function serveExchanges(
  serve: (exchange: Exchange) => void = echo,
  some: Partial<ConnectionLimits> = {},
): Promise<Served> {
  const faults: unknown[] = [];
  const sessions = openConnections({
    limits: { ...limits, ...some },
    serve,
    onFault: (error) => void faults.push(error),
  });
  const server = createServer((socket) => sessions.accept(socket, "1.1"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    ...{ port: (server.address() as AddressInfo).port, sessions },
    [Symbol.asyncDispose]: async () => {
      sessions.destroy();
      await new Promise((resolve) => server.close(resolve));
      if (faults.length > 0) throw faults[0];
    },
  };
}

/** Answers with the method, the target and the body, or with the fault. */
export function echo(exchange: Exchange): void {
  const { method, target, fault } = exchange;
  if (fault) return void exchange.answer({ status: 400, headers: {}, body: fault });
  const parts: Buffer[] = [];
  exchange.receive({
    overloaded() {},
    data: (part) => void parts.push(part),
    end: () => exchange.answer({ status: 200, headers: {}, body: `${method} ${target} ${Buffer.concat(parts)}` }),
  });
}

/** Opens a connection. */
export async function dial({ port }: Served): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return socket.on("error", () => {});
}

/** Sends bytes, one piece after the other, and collects the response until the server closes or the text matches. */
export async function talk(server: Served, pieces: readonly string[], until = /$^/): Promise<string> {
  const socket = await dial(server);
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (part) => {
    text += part.toString("latin1");
    if (until.test(text)) resolve(text);
  });
  socket.on("close", () => resolve(text));
  for (const piece of pieces) {
    socket.write(Buffer.from(piece, "latin1"));
    await new Promise((next) => setImmediate(next));
  }
  const received = await promise;
  socket.destroy();
  return received;
}

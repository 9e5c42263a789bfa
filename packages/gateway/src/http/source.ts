import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as immediate } from "node:timers/promises";

/** The source of a server's connections: a port of this process, or a process that accepts them and hands them over. */
export type ConnectionSource = {
  /** Starts to pass connections to the listener; returns the number of the port. */
  readonly open: (onConnection: (socket: Socket) => void) => Promise<number>;
  /** Passes no more connections; resolves when the last one was passed. */
  readonly close: () => Promise<void>;
  /** Resolves when all connections have ended, after the close. */
  readonly ended: Promise<void>;
};

// Clients that connect again as soon as they are answered would never let it end.
const maxTicks = 512;

/** Makes the source that listens on a port of this process. */
export function portSource(host: string, port: number): ConnectionSource {
  const server = createServer({ noDelay: true });
  let accepted = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  return {
    ended,
    async open(onConnection) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.on("connection", (socket) => {
        accepted += 1;
        onConnection(socket);
      });
      // The listener stays: libuv retries a failed accept, which must not end the process.
      server.on("error", reject);
      server.listen(port, host, resolve);
      await promise;
      return (server.address() as AddressInfo).port;
    },
    async close() {
      // Connections that wait to be accepted are reset by the close, and one is accepted in each tick.
      for (let ticks = 0, before = -1; accepted !== before && ticks < maxTicks; ticks++) {
        before = accepted;
        await immediate();
      }
      server.close(() => end());
    },
  };
}

import { type AddressInfo, createServer, type Socket } from "node:net";
import { setImmediate as immediate } from "node:timers/promises";

/** The source of a server's connections: a port of this process, or a process that accepts them and hands them over. */
export type ConnectionSource = {
  /** Starts to pass connections to the listener; returns the number of the port. */
  readonly open: (onConnection: (socket: Socket) => void) => Promise<number>;
  /** Stops passing connections; resolves once the last one has been passed. */
  readonly close: () => Promise<void>;
  /** Resolves when all connections have ended, after closing. */
  readonly ended: Promise<void>;
};

// Clients that reconnect immediately would otherwise keep it from ever ending.
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
      // The listener stays, because libuv retries a failed accept, which must not end the process.
      server.on("error", reject);
      server.listen(port, host, resolve);
      await promise;
      return (server.address() as AddressInfo).port;
    },
    async close() {
      // Closing would reset connections waiting to be accepted, and each tick accepts one.
      for (let ticks = 0, before = -1; accepted !== before && ticks < maxTicks; ticks++) {
        before = accepted;
        await immediate();
      }
      server.close(() => end());
    },
  };
}

import type { Duplex } from "node:stream";
import { Connection, type ConnectionLimits } from "./h2/connection.ts";
import type { Stream } from "./h2/stream.ts";

/** What bounds a connection of HTTP/2. */
export type SessionLimits = ConnectionLimits & { readonly connectionAgeMs: number };

/** What serves the connections. */
export type SessionParts = {
  readonly limits: SessionLimits;
  readonly serve: (stream: Stream) => void;
  /** Told of what should never happen, which ends its connection only. */
  readonly told?: ((error: unknown) => void) | undefined;
};

/** All connections of HTTP/2. */
export type Sessions = {
  /** Speaks HTTP/2 on a connection from now on. */
  readonly accept: (socket: Duplex) => void;
  /** Lets connections finish what runs, and take nothing new: those that have called already, or all. */
  readonly close: (which: "used" | "all") => void;
  /** Cuts what is left. */
  readonly destroy: () => void;
};

/** Serves HTTP/2 on the connections it is given. */
export function http2Sessions({ limits, serve, told = () => {} }: SessionParts): Sessions {
  const connections = new Set<Connection>();
  return {
    accept(socket) {
      const connection = new Connection({ socket, limits, serve, told });
      connections.add(connection);
      const retiring = retirement(limits.connectionAgeMs, connection);
      socket.on("close", () => {
        connections.delete(connection);
        clearTimeout(retiring);
      });
    },
    close(which) {
      for (const connection of connections) if (which === "all" || connection.used) connection.close();
    },
    destroy() {
      for (const connection of connections) connection.destroy();
    },
  };
}

function retirement(ageMs: number, connection: Connection): NodeJS.Timeout | undefined {
  return ageMs === 0 ? undefined : setTimeout(() => connection.close(), aboutAge(ageMs)).unref();
}

/** An age with some jitter, so that connections made together do not end together. */
export const aboutAge = (ageMs: number): number => ageMs * (0.9 + 0.2 * Math.random());

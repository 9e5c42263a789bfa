import type { Socket } from "node:net";

/** A connection that the watchdog observes. */
export type Watched = {
  readonly socket: Socket | undefined;
  /** The time at which the running statement was sent; undefined while none runs. */
  readonly askedAt: number | undefined;
  /** Whether another server responds while the one behind this connection does not. */
  readonly isAside?: boolean;
};

// quietSince is early by up to one interval: a socket judged silent too soon is only reconnected.
type Seen = { bytesRead: number; lookedAt: number; quietSince: number };

// As long as a lone statement may take on a busy server, and far less than the time after which a dead one is noticed.
const asideMs = 2_500;

/**
 * Destroys connections that stay silent this long while a response is due: behind a broken network a peer never closes. It takes less time
 * if another server has responded in place of a silent one.
 */
export function watchSilence(connections: Iterable<Watched>, silenceMs: number, asideSilenceMs = asideMs): Disposable {
  const seen = new WeakMap<Socket, Seen>();
  const look = () => {
    const now = performance.now();
    for (const { socket, askedAt, isAside } of connections) {
      if (!socket) continue;
      const limitMs = isAside ? Math.min(silenceMs, asideSilenceMs) : silenceMs;
      const last = seen.get(socket) ?? { bytesRead: 0, lookedAt: now, quietSince: now };
      // Bytes are polled instead of counted by a listener: under TLS the driver removes all listeners.
      if (socket.bytesRead !== last.bytesRead) last.quietSince = last.lookedAt;
      seen.set(socket, Object.assign(last, { bytesRead: socket.bytesRead, lookedAt: now }));
      if (askedAt !== undefined && now - Math.max(askedAt, last.quietSince) > limitMs) socket.destroy(silent(limitMs));
    }
  };
  const timer = setInterval(look, Math.max(10, Math.min(silenceMs / 8, asideSilenceMs / 2))).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function silent(silenceMs: number): Error {
  return Object.assign(new Error(`no answer for ${silenceMs} ms`), { code: "CONNECTION_SILENT" });
}

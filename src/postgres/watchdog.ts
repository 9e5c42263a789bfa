import type { Socket } from "node:net";

/** A connection whose answers are waited for. */
export type Watched = {
  readonly socket: Socket | undefined;
  /** When the statement that runs was sent; undefined while none runs. */
  readonly askedAt: number | undefined;
};

// quietSince is early by up to one look: a socket taken for silent too soon is dialled again.
type Seen = { bytesRead: number; lookedAt: number; quietSince: number };

/** Destroys each connection that stays silent for so long while its answer is due: a peer behind a broken network neither answers nor closes. */
export function watchSilence(connections: Iterable<Watched>, silenceMs: number): Disposable {
  const seen = new WeakMap<Socket, Seen>();
  const look = () => {
    const now = performance.now();
    for (const { socket, askedAt } of connections) {
      if (!socket) continue;
      const last = seen.get(socket) ?? { bytesRead: 0, lookedAt: now, quietSince: now };
      // Counted here and not by a listener: under TLS the driver takes them all off.
      if (socket.bytesRead !== last.bytesRead) last.quietSince = last.lookedAt;
      seen.set(socket, Object.assign(last, { bytesRead: socket.bytesRead, lookedAt: now }));
      if (askedAt !== undefined && now - Math.max(askedAt, last.quietSince) > silenceMs)
        socket.destroy(silent(silenceMs));
    }
  };
  const timer = setInterval(look, Math.max(10, silenceMs / 8)).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function silent(silenceMs: number): Error {
  return Object.assign(new Error(`no answer for ${silenceMs} ms`), { code: "CONNECTION_SILENT" });
}

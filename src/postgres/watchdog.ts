import { connect as dial, type Socket } from "node:net";

/** Opens the sockets of a pool and destroys those that stay silent while an answer is overdue. */
export type Watchdog = Disposable &
  Readonly<{
    open: (target: Target) => Socket;
    /** Notes that a statement went out; disposing says that its answer came. */
    expect: () => Disposable;
    destroyAll: () => void;
  }>;

type Target = Readonly<{ path: unknown; host: readonly string[]; port: readonly number[] }>;
// quietSince is early by up to one look: a socket taken for silent too soon is an idle one, and is dialled again.
type Watched = { bytesRead: number; lookedAt: number; quietSince: number };

/** Makes a watchdog that allows an answer this long: a peer behind a broken network neither answers nor closes. */
export function createWatchdog(silenceMs: number): Watchdog {
  const sockets = new Map<Socket, Watched>();
  const expected = new Set<{ since: number }>();
  const timer = setInterval(() => look(sockets, expected, silenceMs), Math.max(10, silenceMs / 8)).unref();
  return {
    open(target) {
      const socket = open(target);
      const now = performance.now();
      sockets.set(socket, { bytesRead: 0, lookedAt: now, quietSince: now });
      return socket;
    },
    expect() {
      const one = { since: performance.now() };
      expected.add(one);
      return { [Symbol.dispose]: () => expected.delete(one) };
    },
    destroyAll() {
      for (const socket of sockets.keys()) socket.destroy();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function look(sockets: Map<Socket, Watched>, expected: Set<{ since: number }>, silenceMs: number): void {
  const now = performance.now();
  const [oldest] = expected;
  for (const [socket, watched] of sockets) {
    // Not by a listener: under TLS the driver takes them all off.
    if (socket.destroyed) sockets.delete(socket);
    if (socket.bytesRead !== watched.bytesRead) watched.quietSince = watched.lookedAt;
    Object.assign(watched, { bytesRead: socket.bytesRead, lookedAt: now });
    if (oldest && now - oldest.since > silenceMs && watched.quietSince <= oldest.since)
      socket.destroy(silent(silenceMs));
  }
}

// The driver starts talking at once: a socket buffers what is written before it is connected.
function open({ path, host: [host = "localhost"], port: [port = 5432] }: Target): Socket {
  const socket = typeof path === "string" ? dial(path) : dial({ host, port });
  // By these the driver finds the name to ask of a certificate.
  Object.assign(socket, { host, port });
  // A proxy without a server accepts and closes, upon which the driver would dial again without end.
  return socket.once("end", () => {
    if (socket.bytesRead === 0)
      socket.destroy(Object.assign(new Error("the server hung up"), { code: "ECONNREFUSED" }));
  });
}

function silent(silenceMs: number): Error {
  return Object.assign(new Error(`no answer for ${silenceMs} ms`), { code: "CONNECTION_SILENT" });
}

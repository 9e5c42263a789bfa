import { createServer, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";

/** What bounds a connection of HTTP/2. */
export type SessionLimits = {
  readonly headersMaxBytes: number;
  readonly idleTimeoutMs: number;
  readonly streamsMax: number;
  readonly connectionAgeMs: number;
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
export function http2Sessions(
  limits: SessionLimits,
  serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Sessions {
  const sessions = new Set<Http2Session>();
  const sockets = new Set<Duplex>();
  const used = new WeakSet<Http2Session>();
  const server = createServer({
    settings: { maxConcurrentStreams: limits.streamsMax, maxHeaderListSize: limits.headersMaxBytes },
    maxHeaderListPairs: mostHeaders,
    // Resetting a request costs its sender nothing and us its work: CVE-2023-44487.
    streamResetBurst: 200,
    streamResetRate: 20,
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    watchOver(session, limits);
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", ignore);
    if (stream.session) used.add(stream.session);
    serve(stream, headers);
  });
  return {
    accept(socket) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      server.emit("connection", socket);
    },
    close(which) {
      for (const session of sessions) if (which === "all" || used.has(session)) session.close();
    },
    destroy() {
      for (const session of sessions) session.destroy();
      // A session that was closed before waits for its client to hang up, even when it is destroyed.
      for (const socket of sockets) socket.destroy();
    },
  };
}

// 64 of ours and the four that HTTP/2 makes of the request line.
const mostHeaders = 68;

// What goes wrong with a connection ends that connection, and is nobody else's business.
function ignore() {}

function watchOver(session: Http2Session, limits: SessionLimits): void {
  let open = 0;
  session.on("error", ignore).on("stream", (stream) => {
    open += 1;
    stream.on("close", () => {
      open -= 1;
    });
  });
  session.setTimeout(limits.idleTimeoutMs);
  session.on("timeout", () => open === 0 && session.close());
  // Frames that cost their sender nothing and ask us for an answer.
  const [pings, settings] = [tooMany(mostPings), tooMany(mostSettings)];
  session.on("ping", () => pings() && session.destroy());
  session.on("remoteSettings", () => settings() && session.destroy());
  retire(limits.connectionAgeMs, session);
}

const mostPings = 1000;
const mostSettings = 100;

function tooMany(mostPerSecond: number): () => boolean {
  let count = 0;
  let since = 0;
  return () => {
    if (performance.now() - since > 1000) [count, since] = [0, performance.now()];
    count += 1;
    return count > mostPerSecond;
  };
}

function retire(ageMs: number, session: Http2Session): void {
  if (ageMs === 0) return;
  const timer = setTimeout(() => session.close(), aboutAge(ageMs)).unref();
  session.on("close", () => clearTimeout(timer));
}

/** An age with some jitter, so that connections made together do not end together. */
export const aboutAge = (ageMs: number): number => ageMs * (0.9 + 0.2 * Math.random());

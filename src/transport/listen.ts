import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Exchange, refuseBroken } from "./broken.ts";
import type { Door } from "./door.ts";
import type { Stream } from "./h2/stream.ts";
import { http1 } from "./http1.ts";
import { giveUp, http2 } from "./http2.ts";
import type { Lane } from "./lane/lane.ts";
import { shareConnections } from "./port.ts";
import { aboutAge, http2Sessions, type SessionLimits, type Sessions } from "./sessions.ts";
import { type Certificate, encryption } from "./tls.ts";

/** What a client may take of the server. */
export type Limits = SessionLimits & {
  readonly messageMaxBytes: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly shutdownGraceMs: number;
};

/** A port that answers; disposing of it finishes what runs, within the grace. */
export type Listening = AsyncDisposable & {
  readonly url: string;
  /** Reads the certificate again, for new connections. */
  readonly reload: () => Promise<void>;
};

/** Where to listen, within which limits, and who answers. */
export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly limits: Limits;
  readonly door: Door;
  /** Is offered every request before the door. */
  readonly lane?: Lane | undefined;
  /** Speaks TLS instead of clear text. */
  readonly certificate?: Certificate | undefined;
  /** Told of what should never happen, which ends its connection only. */
  readonly told?: (error: unknown) => void;
  /** Aborted by us when the server is about to stop. */
  readonly stopping?: AbortController;
};

/** Opens the one port for HTTP/1.1 and HTTP/2. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host, port, limits, stopping = new AbortController() } = options;
  const server = http1Server(options, stopping.signal);
  const sessions = http2Sessions({ limits, serve: serveHttp2(options, stopping.signal), told: options.told });
  const secured = options.certificate && (await encryption(options.certificate, limits.headerTimeoutMs));
  const sockets = shareConnections({ server, sessions, limits, encryption: secured });
  await opened(server, host, port);
  return {
    url: urlOf(secured ? "https" : "http", host, server.address()),
    reload: async () => secured?.reload(),
    [Symbol.asyncDispose]: () => drain({ server, sessions, sockets, stopping, graceMs: limits.shutdownGraceMs }),
  };
}

function serveHttp2({ door, limits, lane }: ListenOptions, stopping: AbortSignal) {
  const carry = http2(door, limits, stopping);
  return (stream: Stream) => {
    if (!lane?.stream(stream)) carry(stream).catch(() => giveUp(stream));
  };
}

function http1Server({ door, limits, lane }: ListenOptions, stopping: AbortSignal): Server {
  const server = createServer({
    maxHeaderSize: limits.headersMaxBytes,
    headersTimeout: limits.headerTimeoutMs,
    requestTimeout: limits.headerTimeoutMs + limits.bodyTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs, limits.bodyTimeoutMs),
    // A request without Host is refused by us, with a body like every other refusal.
    requireHostHeader: false,
    // A request without a body spends nothing on reading one.
    optimizeEmptyRequests: true,
  });
  const known = new WeakMap<Duplex, Connection>();
  const carry = http1(door, limits, stopping);
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const connection = known.get(request.socket) ?? newConnection(limits.connectionAgeMs);
    if (!connection.latest) known.set(request.socket, connection);
    connection.latest = { request, response };
    if (performance.now() > connection.ends) response.setHeader("connection", "close");
    if (!lane?.request(request, response)) carry(request, response).catch(() => response.destroy());
  };
  server.on("request", serve).on("checkContinue", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    refuseBroken({ error, socket, exchange: known.get(socket)?.latest }, door, stopping).catch(() => socket.destroy());
  });
  return server;
}

/** A connection of HTTP/1.1: when it is old, and its latest exchange. */
type Connection = { readonly ends: number; latest: Exchange | undefined };

function newConnection(ageMs: number): Connection {
  return { ends: ageMs > 0 ? performance.now() + aboutAge(ageMs) : Number.POSITIVE_INFINITY, latest: undefined };
}

async function opened(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Stays for good: a failing accept is retried by libuv and must not end the process.
  server.on("error", reject);
  server.listen(port, host, resolve);
  await promise;
}

function urlOf(scheme: string, host: string, address: AddressInfo | string | null): string {
  const port = typeof address === "object" && address ? address.port : 0;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

type Draining = {
  readonly server: Server;
  readonly sessions: Sessions;
  /** Connections that have not told yet what they speak. */
  readonly sockets: ReadonlySet<Socket>;
  readonly stopping: AbortController;
  readonly graceMs: number;
};

const silenceMs = 250;

/** Stops accepting, lets what runs finish, and cuts what still runs when the grace is over. */
async function drain({ server, sessions, sockets, stopping, graceMs }: Draining): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  const begun = performance.now();
  const sweep = () => {
    server.closeIdleConnections();
    // What a new connection says may have arrived without being read yet.
    const silent = performance.now() - begun > silenceMs;
    sessions.close(silent ? "all" : "used");
    if (silent) for (const socket of sockets) socket.destroy();
  };
  sweep();
  // An answer that was running keeps its connection open when it ends, so look again and again.
  const sweeping = setInterval(sweep, 50);
  const cutting = setTimeout(() => {
    server.closeAllConnections();
    sessions.destroy();
  }, graceMs);
  await closed;
  clearInterval(sweeping);
  clearTimeout(cutting);
}

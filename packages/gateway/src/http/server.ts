import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { shareConnections } from "./accept.ts";
import { clientAddresses } from "./client_address.ts";
import { type ConnectionLimits, type Connections, type Http2Implementation, openConnections } from "./connections.ts";
import type { Exchange } from "./exchange.ts";
import { type ConnectionSource, portSource } from "./source.ts";
import { type Certificate, encryption } from "./tls.ts";

/** Limits of a server and its connections. */
export type ServerLimits = ConnectionLimits & {
  readonly messageMaxBytes: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly shutdownGraceMs: number;
  /** The time for which new calls are still served after `stopping` is aborted. */
  readonly shutdownDelayMs: number;
};

/** An open port; disposing of it finishes running calls within the grace period. */
export type Listening = AsyncDisposable & {
  readonly url: string;
  /** Reloads the certificate, for new connections. */
  readonly reload: () => Promise<void>;
};

/** Address, limits and handler of a server. */
export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  /** The source of the connections; by default, a port opened at `host` and `port`. */
  readonly source?: ConnectionSource | undefined;
  readonly limits: ServerLimits;
  /** Serves one request, and never throws. */
  readonly handle: (exchange: Exchange) => void;
  /** The HTTP/2 implementation; by default our own. */
  readonly http2?: Http2Implementation | undefined;
  /** Serves TLS with this certificate instead of clear text. */
  readonly certificate?: Certificate | undefined;
  /** Addresses and subnets of proxies that may name their clients, with a PROXY header or `x-forwarded-for`; none by default. */
  readonly trustedProxies?: readonly string[];
  /** Called with an internal error, which only ends its own connection. */
  readonly onFault?: (error: unknown) => void;
  /** Aborted by the server when it is about to stop. */
  readonly stopping?: AbortController;
};

/** Opens a single port for HTTP/1.1 and HTTP/2. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host, port, limits, stopping = new AbortController() } = options;
  const source = options.source ?? portSource(host, port);
  const { handle, http2, onFault } = options;
  const addresses = clientAddresses(options.trustedProxies);
  const connections = openConnections({ limits, serve: handle, http2, addresses, onFault });
  const tls = options.certificate && (await encryption(options.certificate, limits.headerTimeoutMs));
  const { accept, undecided: sockets } = shareConnections({ connections, limits, addresses, encryption: tls });
  const { shutdownDelayMs: delayMs, shutdownGraceMs: graceMs } = limits;
  const opened = await source.open(accept);
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${opened}`,
    reload: async () => tls?.reload(),
    [Symbol.asyncDispose]: () => drain({ source, connections, sockets, stopping, delayMs, graceMs }),
  };
}

type DrainOptions = {
  readonly source: ConnectionSource;
  readonly connections: Connections;
  /** Connections whose HTTP version is not known yet. */
  readonly sockets: ReadonlySet<Socket>;
  readonly stopping: AbortController;
  readonly delayMs: number;
  readonly graceMs: number;
};

const readGraceMs = 250;
const retireCount = 4;
// The maximum time for which a connection in use waits for its next request.
const lastRequestMs = 250;

/**
 * Reports the server as not ready, directs clients to other nodes during the delay, stops accepting, lets running calls finish, and
 * destroys the remaining connections after the grace period.
 */
async function drain({ source, connections, sockets, stopping, delayMs, graceMs }: DrainOptions): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  // A load balancer that has not noticed yet may bring a client back, so connections are retired several times.
  for (let count = delayMs > 0 ? retireCount : 1; count > 0; count--) {
    connections.retire();
    await pause(delayMs / retireCount);
  }
  await source.close();
  // From now on, every response says that its connection closes. A proxy without health checks has kept sending until now: it opens no more
  // connections, and must not send a request on an idle one that is about to close.
  connections.retireAll();
  await pause(Math.min(delayMs / retireCount, lastRequestMs));
  const startedAt = performance.now();
  const closeConnections = () => {
    // The first request of a new connection may have arrived without having been read yet.
    const allRead = performance.now() - startedAt > readGraceMs;
    connections.close(allRead ? "all" : "used");
    if (allRead) for (const socket of sockets) socket.destroy();
  };
  closeConnections();
  // A running response leaves its connection open when it ends, so the connections are closed repeatedly.
  const closeTimer = setInterval(closeConnections, 50);
  const destroyTimer = setTimeout(() => {
    connections.destroy();
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await source.ended;
  clearInterval(closeTimer);
  clearTimeout(destroyTimer);
}

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { shareConnections } from "./accept.ts";
import { type ConnectionLimits, type Connections, type Http2Implementation, openConnections } from "./connections.ts";
import type { Exchange } from "./exchange.ts";
import { type Certificate, encryption } from "./tls.ts";

/** What a client may take of the server. */
export type ServerLimits = ConnectionLimits & {
  readonly messageMaxBytes: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly shutdownGraceMs: number;
  /** How long calls are still taken once `stopping` is aborted; 0 when absent. */
  readonly shutdownDelayMs?: number;
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
  readonly limits: ServerLimits;
  /** Serves one request, and never throws. */
  readonly handle: (exchange: Exchange) => void;
  /** Which implementation speaks HTTP/2; our own when absent. */
  readonly http2?: Http2Implementation | undefined;
  /** Speaks TLS instead of clear text. */
  readonly certificate?: Certificate | undefined;
  /** Called with an error of ours, which ends its connection only. */
  readonly onFault?: (error: unknown) => void;
  /** Aborted by us when the server is about to stop. */
  readonly stopping?: AbortController;
};

/** Opens the one port for HTTP/1.1 and HTTP/2. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host, port, limits, stopping = new AbortController() } = options;
  const server = createServer({ noDelay: true });
  const { handle, http2, onFault } = options;
  const connections = openConnections({ limits, serve: handle, http2, onFault });
  const secured = options.certificate && (await encryption(options.certificate, limits.headerTimeoutMs));
  const sockets = shareConnections({ server, connections, limits, encryption: secured });
  const { shutdownDelayMs: delayMs = 0, shutdownGraceMs: graceMs } = limits;
  await opened(server, host, port);
  return {
    url: urlOf(secured ? "https" : "http", host, server.address()),
    reload: async () => secured?.reload(),
    [Symbol.asyncDispose]: () => drain({ server, connections, sockets, stopping, delayMs, graceMs }),
  };
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
  readonly connections: Connections;
  /** Connections whose version of HTTP is not known yet. */
  readonly sockets: ReadonlySet<Socket>;
  readonly stopping: AbortController;
  readonly delayMs: number;
  readonly graceMs: number;
};

const silenceMs = 250;
const retirements = 4;

/**
 * Is not ready any more, sends clients to other nodes during the delay, stops accepting, lets what runs finish, and cuts what
 * still runs when the grace is over.
 */
async function drain({ server, connections, sockets, stopping, delayMs, graceMs }: Draining): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  // A balancer that has not noticed yet may bring a client back, so connections are retired several times.
  for (let count = 0; delayMs > 0 && count < retirements; count++) {
    connections.retire();
    await pause(delayMs / retirements);
  }
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  const begun = performance.now();
  const sweep = () => {
    // What a new connection says may have arrived without being read yet.
    const silent = performance.now() - begun > silenceMs;
    connections.close(silent ? "all" : "used");
    if (silent) for (const socket of sockets) socket.destroy();
  };
  sweep();
  // An answer that was running keeps its connection open when it ends, so look again and again.
  const sweeping = setInterval(sweep, 50);
  const cutting = setTimeout(() => {
    connections.destroy();
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(sweeping);
  clearTimeout(cutting);
}

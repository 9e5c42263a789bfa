import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Door } from "./door.ts";
import type { Answer, Asked } from "./exchange.ts";
import { http1 } from "./http1.ts";

/** What a client may take of the server. */
export type Limits = {
  readonly messageMaxBytes: number;
  readonly headersMaxBytes: number;
  readonly headerTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly shutdownGraceMs: number;
};

/** A port that answers; disposing of it finishes what runs, within the grace. */
export type Listening = AsyncDisposable & { readonly url: string };

/** Where to listen, within which limits, and who answers. */
export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly limits: Limits;
  readonly door: Door;
};

/** Opens the port. */
export async function listen({ host, port, limits, door }: ListenOptions): Promise<Listening> {
  const stopping = new AbortController();
  const server = serverOf(limits);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const latest = new WeakMap<Duplex, Exchange>();
  const carry = http1(door, limits, stopping.signal);
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    latest.set(request.socket, { request, response });
    carry(request, response).catch(() => response.destroy());
  };
  server.on("request", serve).on("checkContinue", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    refuseBroken({ error, socket, exchange: latest.get(socket) }, door, stopping.signal).catch(() => socket.destroy());
  });
  await opened(server, host, port);
  return {
    url: urlOf(host, server.address()),
    [Symbol.asyncDispose]: () => drain({ server, sockets, stopping, graceMs: limits.shutdownGraceMs }),
  };
}

function serverOf(limits: Limits): Server {
  return createServer({
    maxHeaderSize: limits.headersMaxBytes,
    headersTimeout: limits.headerTimeoutMs,
    requestTimeout: limits.headerTimeoutMs + limits.bodyTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, limits.headerTimeoutMs, limits.bodyTimeoutMs),
    // A request without Host is refused by us, with a body like every other refusal.
    requireHostHeader: false,
  });
}

async function opened(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Stays for good: a failing accept is retried by libuv and must not end the process.
  server.on("error", reject);
  server.listen(port, host, resolve);
  await promise;
}

function urlOf(host: string, address: AddressInfo | string | null): string {
  const port = typeof address === "object" && address ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };
type Broken = {
  readonly error: NodeJS.ErrnoException;
  readonly socket: Duplex;
  readonly exchange: Exchange | undefined;
};

/** Answers bytes that the HTTP parser gave up on, unless an answer to something else is on its way. */
async function refuseBroken({ error, socket, exchange }: Broken, door: Door, stopping: AbortSignal): Promise<void> {
  const running = exchange && !exchange.response.writableFinished;
  const midAnswer = running && (exchange.response.headersSent || exchange.request.complete);
  if (error.code === "ECONNRESET" || !socket.writable || midAnswer) {
    socket.destroy();
    return;
  }
  const flaw = flawOf(error.code);
  const answer = await door({ ...nothing, flaw, stopping });
  const text = rawAnswer(flaw === "DEADLINE_EXCEEDED" ? { ...answer, status: 408 } : answer);
  socket.end(text, () => socket.destroy());
}

const nothing: Omit<Asked, "stopping"> = {
  method: "",
  authority: "",
  target: "",
  headers: { get: () => null },
  signal: new AbortController().signal,
  body: async () => new Uint8Array(0),
};

function flawOf(code: string | undefined): NonNullable<Asked["flaw"]> {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "HEADERS_TOO_LARGE";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "DEADLINE_EXCEEDED";
    default:
      return "MALFORMED_REQUEST";
  }
}

function rawAnswer({ status, headers, body }: Answer): string {
  const text = typeof body === "string" ? body : "";
  const all = { ...headers, connection: "close", "content-length": Buffer.byteLength(text) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${text}`;
}

type Draining = {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  readonly stopping: AbortController;
  readonly graceMs: number;
};

/** Stops accepting, lets what runs finish, and cuts what still runs when the grace is over. */
async function drain({ server, sockets, stopping, graceMs }: Draining): Promise<void> {
  if (stopping.signal.aborted) return;
  stopping.abort();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  const sweep = () => {
    server.closeIdleConnections();
    // Node does not count a connection that has sent nothing yet as idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  sweep();
  // An answer that was running keeps its connection open when it ends, so look again and again.
  const sweeping = setInterval(sweep, 50);
  const cutting = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweeping);
  clearTimeout(cutting);
}

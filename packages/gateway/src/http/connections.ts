import type { Duplex } from "node:stream";
import { type BodyBudget, type BudgetLimits, bodyBudget, type Network } from "./body_budget.ts";
import { type ClientAddresses, clientAddresses } from "./client_address.ts";
import type { Exchange, Headers } from "./exchange.ts";
import { Http1Connection } from "./http1/connection.ts";
import { http1Parsers } from "./http1/parser.ts";
import { Http2Connection, type Http2Limits } from "./http2/connection.ts";
import { NodeHttp2Connection } from "./node_http2/connection.ts";
import type { Version } from "./preface.ts";

/** Limits on all connections of a server. */
export type ConnectionLimits = Http2Limits & { readonly connectionAgeMs: number } & BudgetLimits;

/** The HTTP/2 implementation: our own, or `node:http2`. */
export type Http2Implementation = "own" | "node";

/** Options of `openConnections`. */
export type ConnectionsOptions = {
  readonly http2?: Http2Implementation | undefined;
  readonly limits: ConnectionLimits;
  readonly serve: (exchange: Exchange) => void;
  /** The proxies that may name their clients; none if absent. */
  readonly addresses?: ClientAddresses | undefined;
  /** Called with an internal error, which only ends its own connection. */
  readonly onFault?: ((error: unknown) => void) | undefined;
};

type Connection = Http2Connection | NodeHttp2Connection | Http1Connection;

/** All connections whose HTTP version is known. */
export type Connections = {
  /** Serves an HTTP version on a socket, for a client at this address, by default the socket's. */
  readonly accept: (socket: Duplex, version: Version, address?: string) => void;
  /** Closes connections that have served a request: HTTP/1.1 after the next response, HTTP/2 with GOAWAY. */
  readonly retire: () => void;
  /** Retires all connections, and future HTTP/1.1 connections after one request each. */
  readonly retireAll: () => void;
  /** Lets running requests finish and takes no new ones, on connections that have served a request or on all. */
  readonly close: (which: "used" | "all") => void;
  /** Destroys the remaining connections. */
  readonly destroy: () => void;
};

/** Serves HTTP on sockets, limiting their time and memory. */
export function openConnections({
  limits,
  serve,
  http2,
  addresses,
  onFault = () => {},
}: ConnectionsOptions): Connections {
  const Http2 = http2 === "node" ? NodeHttp2Connection : Http2Connection;
  const connections = new Set<Connection>();
  const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = limits;
  const checkIntervalMs = Math.max(10, Math.min(1000, headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs));
  const clientsOf = clientFinder(bodyBudget(limits), addresses);
  const openParser = http1Parsers(limits.headersMaxBytes);
  let checkTimer: NodeJS.Timeout | undefined;
  let servesOneRequest = false;

  // Checking all connections costs less than timers that every request sets and clears.
  function check(): void {
    const now = performance.now();
    for (const connection of connections) connection.check(now);
  }

  function retire(): void {
    for (const connection of connections) if (connection.used) connection.retire();
  }

  return {
    accept(socket, version, address = addressOf(socket)) {
      const options = { socket, limits, serve, onFault, clientOf: clientsOf(address) };
      const connection = version === "2" ? new Http2(options) : new Http1Connection(options, openParser);
      connections.add(connection);
      if (servesOneRequest && version === "1.1") connection.retire();
      checkTimer ??= setInterval(check, checkIntervalMs).unref();
      const retirementTimer = retireAfter(limits.connectionAgeMs, connection);
      socket.on("close", () => {
        connections.delete(connection);
        clearTimeout(retirementTimer);
        if (connections.size > 0) return;
        clearInterval(checkTimer);
        checkTimer = undefined;
      });
    },
    retire,
    retireAll() {
      servesOneRequest = true;
      retire();
    },
    close(which) {
      for (const connection of connections) if (which === "all" || connection.used) connection.close();
    },
    destroy() {
      for (const connection of connections) connection.destroy();
    },
  };
}

/** Finds the clients of a connection by its address: one for all its requests, unless it belongs to a trusted proxy. */
function clientFinder(budget: BodyBudget, addresses = clientAddresses()) {
  return (address: string | undefined): ((headers: Headers) => Network) => {
    if (addresses.isProxy(address)) return (headers) => budget.from(addresses.forwarded(headers["x-forwarded-for"]));
    const client = budget.from(address);
    return () => client;
  };
}

const addressOf = (socket: Duplex) =>
  "remoteAddress" in socket && typeof socket.remoteAddress === "string" ? socket.remoteAddress : undefined;

function retireAfter(ageMs: number, connection: Connection): NodeJS.Timeout | undefined {
  return ageMs === 0 ? undefined : setTimeout(() => connection.retire(), jittered(ageMs)).unref();
}

/** An age with some jitter, so that connections opened together do not close together. */
const jittered = (ageMs: number): number => ageMs * (0.9 + 0.2 * Math.random());

import type { Duplex } from "node:stream";
import { type BodyBudget, type BudgetLimits, bodyBudget } from "./body_budget.ts";
import type { Exchange } from "./exchange.ts";
import { Http1Connection } from "./http1/connection.ts";
import { http1Parsers } from "./http1/parser.ts";
import { Http2Connection, type Http2Limits } from "./http2/connection.ts";
import { NodeHttp2Connection } from "./node_http2/connection.ts";
import type { Version } from "./preface.ts";

/** What bounds a connection. */
export type ConnectionLimits = Http2Limits & { readonly connectionAgeMs: number } & BudgetLimits;

/** Who speaks HTTP/2: our implementation, or that of Node. */
export type Http2Implementation = "own" | "node";

/** What serves the connections. */
export type ConnectionsOptions = {
  readonly http2?: Http2Implementation | undefined;
  readonly limits: ConnectionLimits;
  readonly serve: (exchange: Exchange) => void;
  /** Called with an error of ours, which ends its connection only. */
  readonly onFault?: ((error: unknown) => void) | undefined;
};

type Connection = Http2Connection | NodeHttp2Connection | Http1Connection;

/** All connections whose version of HTTP is known. */
export type Connections = {
  /** Speaks a version of HTTP on a connection from now on. */
  readonly accept: (socket: Duplex, version: Version) => void;
  /** Ends connections after their next answer (HTTP/1.1) or with GOAWAY (HTTP/2), those that have called already. */
  readonly retire: () => void;
  /** Lets connections finish what runs, and take nothing new: those that have called already, or all. */
  readonly close: (which: "used" | "all") => void;
  /** Cuts what is left. */
  readonly destroy: () => void;
};

/** Serves HTTP on the connections it is given. */
export function openConnections({ limits, serve, http2, onFault = () => {} }: ConnectionsOptions): Connections {
  const Http2 = http2 === "node" ? NodeHttp2Connection : Http2Connection;
  const connections = new Set<Connection>();
  const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs } = limits;
  const everyMs = Math.max(10, Math.min(1000, headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs));
  const budget: BodyBudget = bodyBudget(limits);
  const openParser = http1Parsers(limits.headersMaxBytes);
  let checking: NodeJS.Timeout | undefined;

  // One look at all of them costs less than timers that every request sets and clears.
  function check(): void {
    const now = performance.now();
    for (const connection of connections) connection.check(now);
  }

  return {
    accept(socket, version) {
      const parts = { socket, limits, serve, onFault, network: budget.from(addressOf(socket)) };
      const connection = version === "2" ? new Http2(parts) : new Http1Connection(parts, openParser);
      connections.add(connection);
      checking ??= setInterval(check, everyMs).unref();
      const retiring = retirement(limits.connectionAgeMs, connection);
      socket.on("close", () => {
        connections.delete(connection);
        clearTimeout(retiring);
        if (connections.size > 0) return;
        clearInterval(checking);
        checking = undefined;
      });
    },
    retire() {
      for (const connection of connections) if (connection.used) connection.retire();
    },
    close(which) {
      for (const connection of connections) if (which === "all" || connection.used) connection.close();
    },
    destroy() {
      for (const connection of connections) connection.destroy();
    },
  };
}

const addressOf = (socket: Duplex) =>
  "remoteAddress" in socket && typeof socket.remoteAddress === "string" ? socket.remoteAddress : undefined;

function retirement(ageMs: number, connection: Connection): NodeJS.Timeout | undefined {
  return ageMs === 0 ? undefined : setTimeout(() => connection.retire(), aboutAge(ageMs)).unref();
}

/** An age with some jitter, so that connections made together do not end together. */
const aboutAge = (ageMs: number): number => ageMs * (0.9 + 0.2 * Math.random());

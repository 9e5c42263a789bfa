import type { Response } from "../http/exchange.ts";
import type { Fields } from "./header_fields.ts";

/** A request at a path that is no rpc; its body is not read. */
export type HttpRequest = {
  readonly method: string;
  /** As it was sent, still encoded, without the query. */
  readonly path: string;
  /** As it was sent, without the question mark. */
  readonly query: string;
  readonly headers: Fields;
  /** The network of the client; undefined where a proxy that is trusted names no client. */
  readonly network: string | undefined;
};

/** A handler of a path that is no rpc: health for load balancers, documents, metrics. */
export type HttpRoute = {
  readonly path: string;
  /** The methods of the route; GET and HEAD when absent. */
  readonly methods?: readonly string[];
  readonly handle: (request: HttpRequest) => Promise<Response> | Response;
  /** Makes what the first request would wait for. A server calls it when it has nothing else to do, or never. */
  readonly prepare?: () => Promise<unknown>;
};

/** Indexes routes by their path; throws when two have the same path. */
export function routesByPath(routes: readonly HttpRoute[]): ReadonlyMap<string, HttpRoute> {
  const byPath = new Map(routes.map((route) => [route.path, route]));
  if (byPath.size < routes.length) throw new Error("two routes have the same path");
  return byPath;
}

/** A response whose body is JSON text. */
export const jsonResponse = (status: number, body: string): Response => ({
  status,
  headers: { "content-type": "application/json" },
  body,
});

import type { ContextValues } from "@connectrpc/connect";
import type { Fields } from "../header_fields.ts";
import type { Response } from "../http/exchange.ts";

/** A request at a path that is not an rpc. */
export type HttpRequest = {
  readonly method: string;
  /** The path as sent, still encoded, without the query. */
  readonly path: string;
  /** The query as sent, without the question mark. */
  readonly query: string;
  readonly headers: Fields;
  /** The client's network; undefined if a trusted proxy names no client. */
  readonly network: string | undefined;
  /** The body; empty if the route takes none. */
  readonly body: Uint8Array;
  /** The context values of the request. */
  readonly values: ContextValues;
  /** Aborted when the client disconnects, for routes that take bodies. */
  readonly signal: AbortSignal;
};

/** A request on arrival, before its body. */
export type ArrivedRequest = Pick<HttpRequest, "method" | "headers" | "values">;

/** A handler of a path that is not an rpc: health for load balancers, documents, metrics, pages. */
export type HttpRoute = {
  /** A path. With `/*` after its first segment, it covers all paths below that have no route of their own. */
  readonly path: string;
  /** The methods of the route; GET and HEAD by default. A route that lists OPTIONS responds to preflights itself. */
  readonly methods?: readonly string[];
  /** The maximum size of a body; without it, a route reads no body. */
  readonly bodyMaxBytes?: number;
  readonly handle: (request: HttpRequest) => Promise<Response> | Response;
  /** Called when a request arrives; returns a function to call with the status of the response. */
  readonly observe?: (request: ArrivedRequest) => ((status: number) => void) | undefined;
};

/** Indexes routes by path; throws if two have the same path. */
export function routesByPath(routes: readonly HttpRoute[]): ReadonlyMap<string, HttpRoute> {
  const byPath = new Map(routes.map((route) => [route.path, route]));
  if (byPath.size < routes.length) throw new Error("two routes have the same path");
  return byPath;
}

/** The route of a path. */
export function routeAt(routes: ReadonlyMap<string, HttpRoute>, path: string): HttpRoute | undefined {
  const end = path.indexOf("/", 1);
  return routes.get(path) ?? (end < 0 ? undefined : routes.get(`${path.slice(0, end)}/*`));
}

/** A response whose body is JSON text. */
export const jsonResponse = (status: number, body: string): Response => ({
  status,
  headers: { "content-type": "application/json" },
  body,
});

import type { ContextValues } from "@connectrpc/connect";
import type { Fields } from "../header_fields.ts";
import type { Response } from "../http/exchange.ts";

/** A request at a path that is no rpc. */
export type HttpRequest = {
  readonly method: string;
  /** As it was sent, still encoded, without the query. */
  readonly path: string;
  /** As it was sent, without the question mark. */
  readonly query: string;
  readonly headers: Fields;
  /** The network of the client; undefined where a proxy that is trusted names no client. */
  readonly network: string | undefined;
  /** The body; empty where the route takes none. */
  readonly body: Uint8Array;
  /** The context values of the request. */
  readonly values: ContextValues;
  /** Aborted when the client of a route that takes bodies is gone. */
  readonly signal: AbortSignal;
};

/** A request when it arrives, before its body. */
export type ArrivedRequest = Pick<HttpRequest, "method" | "headers" | "values">;

/** A handler of a path that is no rpc: health for load balancers, documents, metrics, pages. */
export type HttpRoute = {
  /** A path; with `/*` after its first segment, all paths below it that have no route of their own. */
  readonly path: string;
  /** The methods of the route; GET and HEAD when absent. One that lists OPTIONS answers the preflights of browsers itself. */
  readonly methods?: readonly string[];
  /** The most bytes that a body may have; a route without it reads no body. */
  readonly bodyMaxBytes?: number;
  readonly handle: (request: HttpRequest) => Promise<Response> | Response;
  /** Called when a request arrives; the function that it returns is called with the status of the response. */
  readonly observe?: (request: ArrivedRequest) => ((status: number) => void) | undefined;
};

/** Indexes routes by their path; throws when two have the same path. */
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

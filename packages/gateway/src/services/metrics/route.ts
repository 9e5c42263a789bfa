import type { HttpRoute } from "../../rpc/http_route.ts";
import { seldom } from "../seldom.ts";
import { contentType, exposition, type Family } from "./text.ts";

/** `/metrics`, for Prometheus; the families are asked for once in a second at most, however many scrape. */
export function metricsRoute(families: () => Promise<readonly Family[]>): HttpRoute {
  const fresh = seldom(families, 1000);
  return {
    path: "/metrics",
    handle: async () => ({ status: 200, headers: { "content-type": contentType }, body: exposition(await fresh()) }),
  };
}

import type { HttpRoute } from "../../rpc/http_route.ts";
import { contentType, exposition, type Family } from "./text.ts";

/** `/metrics`, for Prometheus. */
export function metricsRoute(families: () => Promise<readonly Family[]>): HttpRoute {
  return {
    path: "/metrics",
    handle: async () => ({ status: 200, headers: { "content-type": contentType }, body: exposition(await families()) }),
  };
}

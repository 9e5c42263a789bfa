import { GatewayError } from "../errors/gateway_error.ts";
import { type HttpRoute, jsonResponse } from "../rpc/http_route.ts";
import type { Readiness } from "./readiness.ts";

/** `/healthz`: the process is alive; `/readyz`: it can serve. */
export const probes = (isReady: Readiness, stopping: AbortSignal): readonly HttpRoute[] => [
  { path: "/healthz", handle: () => ok },
  {
    path: "/readyz",
    async handle() {
      if (stopping.aborted || !(await isReady())) throw new GatewayError("UNAVAILABLE");
      return ok;
    },
  },
];

const ok = jsonResponse(200, '{"status":"ok"}\n');

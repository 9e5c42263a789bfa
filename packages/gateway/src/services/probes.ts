import { GatewayError } from "../errors/gateway_error.ts";
import { type HttpRoute, jsonResponse } from "../rpc/http_route.ts";
import type { Readiness } from "./readiness.ts";

/** Returns additional fields that a ready server shows. */
export type ReadyFields = () => Readonly<Record<string, unknown>>;

const noFields: ReadyFields = () => ({});

/** `/healthz`: the process is alive. `/readyz`: it can serve. */
export const probes = (isReady: Readiness, stopping: AbortSignal, fieldsOf = noFields): readonly HttpRoute[] => [
  { path: "/healthz", handle: () => ok },
  {
    path: "/readyz",
    async handle() {
      if (stopping.aborted || !(await isReady())) throw new GatewayError("UNAVAILABLE");
      return jsonResponse(200, `${JSON.stringify({ status: "ok", ...fieldsOf() })}\n`);
    },
  },
];

const ok = jsonResponse(200, '{"status":"ok"}\n');

import {
  CallValues,
  type GatewayOptions,
  gateway,
  type HttpRoute,
  type Listening,
  type ListenOptions,
} from "@postern/gateway";
import type { Config } from "../config/config.ts";
import { keys } from "../deps.ts";
import { inOurWords } from "../errors.ts";
import type { Report } from "../guards/report.ts";
import { services } from "../runtime/modules.ts";

/** The parts of a node that its operations port exposes. */
export type OperationsOptions = {
  readonly ready: () => Promise<boolean>;
  /** Fields of the body of `/readyz`. */
  readonly readyFields: GatewayOptions["readyFields"];
  readonly lines: Report;
  readonly httpRoutes: readonly HttpRoute[];
  readonly ids: () => string;
  readonly listening: Partial<ListenOptions>;
};

/**
 * Opens the operations port, if there is one: metrics, health, reflection and documents, but no operations of the service. It has no rate
 * limits, and stays open until the other port is closed.
 */
export async function listenForOperators(
  config: Config,
  { ready, readyFields, lines, httpRoutes, ids, listening }: OperationsOptions,
): Promise<Listening | undefined> {
  if (config.operationsPort === undefined) return undefined;
  const served = gateway({
    routes: () => {},
    reflection: services,
    standard: { interceptors: [lines.interceptor], requestGate: lines.atGate(() => {}) },
    onError: lines.onError,
    refuse: inOurWords,
    limits: { ...config, shutdownDelayMs: 0 },
    contextValues: () => new CallValues().set(keys.requestId, ids()),
    responseHeaders: (values) => ({ "x-request-id": values.get(keys.requestId) }),
    ready,
    readyFields,
    httpRoutes,
    openapi: false,
  });
  return served.listen({ ...listening, port: config.operationsPort });
}

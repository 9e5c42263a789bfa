import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import type { Refuse } from "../errors/gateway_error.ts";

/** Services and readiness for the health service. */
export type HealthOptions = {
  /** The full names of all services. */
  readonly names: readonly string[];
  readonly ready: () => Promise<boolean>;
  /** Aborted when the server is about to stop. */
  readonly stopping: AbortSignal;
  /** The interval at which a watch checks the state. */
  readonly everyMs: number;
  readonly refuse: Refuse;
};

/** `grpc.health.v1`: all services share one process and one database, so they share their status. */
export function health({ names, ready, stopping, everyMs, refuse }: HealthOptions) {
  const known = new Set(["", ...names]);

  return {
    async check({ service }) {
      if (!known.has(service))
        throw refuse("SERVICE_NOT_FOUND", { params: { id: service }, resource: { noun: "service", id: service } });
      return { status: await now() };
    },

    async list() {
      const status = await now();
      return { statuses: Object.fromEntries([...known].map((name) => [name, { status }])) };
    },

    async *watch({ service }, { signal }) {
      const stopped = AbortSignal.any([signal, stopping]);
      let lastSent: Status | undefined;
      while (true) {
        const status = known.has(service) ? await now() : Status.SERVICE_UNKNOWN;
        if (status !== lastSent) yield { status };
        lastSent = status;
        if (stopping.aborted) return;
        signal.throwIfAborted();
        await sleep(everyMs, undefined, { signal: stopped }).catch(() => {});
      }
    },
  } satisfies ServiceImpl<typeof Health>;

  async function now(): Promise<Status> {
    return !stopping.aborted && (await ready()) ? Status.SERVING : Status.NOT_SERVING;
  }
}

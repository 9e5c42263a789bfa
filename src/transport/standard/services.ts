import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Operations } from "../operations.ts";
import { health } from "./health.ts";
import type { Observe } from "./metrics/calls.ts";
import { counted } from "./metrics/counted.ts";
import { type Ready, readiness } from "./readiness.ts";
import { reflection } from "./reflection.ts";

/** What the standard services speak of. */
export type StandardParts = {
  readonly operations: Operations;
  readonly ready: Ready;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
  readonly observe?: Observe | undefined;
};

const others = [Health, ServerReflection, ServerReflectionAlpha];

/** The services that every server has. */
export const standardOnes: readonly { readonly service: DescService }[] = others.map((service) => ({ service }));

/** Health and reflection, for a Connect router; nobody has to be signed in. */
export function standardServices(parts: StandardParts): (router: ConnectRouter) => void {
  const { operations, ready, stopping, observe } = parts;
  const ours = new Set([...operations.values()].map(({ method }) => method.parent));
  const services = [...ours, ...others];
  const names = services.map(({ typeName }) => typeName);
  const serverReflectionInfo = reflection(services);
  const implemented = health({ names, ready: readiness(ready), stopping, everyMs: 1000 });
  const options = { interceptors: observe ? [counted(observe)] : [] };
  return (router) => {
    router.service(Health, implemented, options);
    router.service(ServerReflection, { serverReflectionInfo }, options);
    router.service(ServerReflectionAlpha, { serverReflectionInfo }, options);
  };
}

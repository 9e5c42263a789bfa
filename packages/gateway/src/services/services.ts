import type { DescService } from "@bufbuild/protobuf";
import { Health } from "../../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { type Guard, implementation, type Operations, type Rpc, standardRpcs } from "../rpc/operations.ts";
import { health } from "./health.ts";
import { type Ready, readiness } from "./readiness.ts";
import { reflection } from "./reflection.ts";

/** What the standard services speak of. */
export type StandardParts = {
  readonly operations: Operations;
  readonly ready: Ready;
  /** Aborts when the server is about to stop. */
  readonly stopping: AbortSignal;
  /** What counts and reports their calls. */
  readonly guard: Guard;
};

const others = [Health, ServerReflection, ServerReflectionAlpha];

/** The services that every server has. */
export const standardOnes: readonly { readonly service: DescService }[] = others.map((service) => ({ service }));

/** Health and reflection; nobody has to be signed in. */
export function standardServices({ operations, ready, stopping, guard }: StandardParts): readonly Rpc[] {
  const ours = new Set([...operations.values()].map(({ method }) => method.parent));
  const services = [...ours, ...others];
  const names = services.map(({ typeName }) => typeName);
  const serverReflectionInfo = reflection(services);
  const implementations = [
    implementation(Health, health({ names, ready: readiness(ready), stopping, everyMs: 1000 })),
    implementation(ServerReflection, { serverReflectionInfo }),
    implementation(ServerReflectionAlpha, { serverReflectionInfo }),
  ];
  return standardRpcs(implementations, guard);
}

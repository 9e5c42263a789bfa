import type { DescService } from "@bufbuild/protobuf";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Refuse } from "../errors/gateway_error.ts";
import type { Routes } from "../rpc/router.ts";
import { health } from "./health.ts";
import type { Readiness } from "./readiness.ts";
import { reflection } from "./reflection.ts";

/** The services that every server has: health, and both versions of reflection. */
export const standardServices: readonly DescService[] = [Health, ServerReflection, ServerReflectionAlpha];

/** The services and state that health and reflection report. */
export type StandardOptions = {
  /** The services of the server itself. */
  readonly services: readonly DescService[];
  /** Whether reflection is served. */
  readonly reflects: boolean;
  readonly isReady: Readiness;
  /** Aborted when the server is about to stop. */
  readonly stopping: AbortSignal;
  readonly refuse: Refuse;
};

/** Registers health and reflection, which unknown callers may call. */
export function standardRoutes({ services: own, reflects, isReady, stopping, refuse }: StandardOptions): Routes {
  const services = [...own, ...(reflects ? standardServices : [Health])];
  const names = services.map(({ typeName }) => typeName);
  const serverReflectionInfo = reflection(services, refuse);
  return (router) => {
    router.service(Health, health({ names, ready: isReady, stopping, everyMs: 1000, refuse }));
    if (!reflects) return;
    router.service(ServerReflection, { serverReflectionInfo });
    router.service(ServerReflectionAlpha, { serverReflectionInfo });
  };
}

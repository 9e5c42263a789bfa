import type { DescService } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
} from "@connectrpc/connect";

/** Registers services, as for Connect's adapters. */
export type Routes = (router: ConnectRouter) => void;

/** Called with the headers of a request before its body is read; throws to refuse the call. */
export type RequestGate = (context: HandlerContext) => void | Promise<void>;

/** The options that an rpc is served with. */
export type RouteOptions = {
  /** The interceptors; the first one is the outermost. */
  readonly interceptors: readonly Interceptor[];
  readonly requestGate?: RequestGate | undefined;
  /** The maximum size of a request message, also after decompression. */
  readonly readMaxBytes?: number | undefined;
};

/** A registered rpc: its implementation and options. */
export type Route = { readonly spec: MethodImplSpec; readonly options: RouteOptions };

/** Collects the registered routes; options of a service or rpc override the common ones. */
export function collectRoutes(routes: Routes, base: RouteOptions): readonly Route[] {
  const result: Route[] = [];
  const add = (spec: MethodImplSpec, own: Partial<RouteOptions> | undefined) =>
    void result.push({ spec, options: { ...base, ...definedOptions(own) } });
  const router: ConnectRouter = {
    // Required by ConnectRouter, but the gateway does not use Connect's own handlers.
    handlers: [],
    service(service: DescService, implementation, options) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods)) add(spec, options);
      return router;
    },
    rpc(method, implementation, options) {
      add(createMethodImplSpec(method, implementation), options);
      return router;
    },
  };
  routes(router);
  return result;
}

function definedOptions(own: Partial<RouteOptions> = {}): Partial<RouteOptions> {
  const { interceptors, requestGate, readMaxBytes } = own;
  return {
    ...(interceptors && { interceptors }),
    ...(requestGate && { requestGate }),
    ...(readMaxBytes !== undefined && { readMaxBytes }),
  };
}

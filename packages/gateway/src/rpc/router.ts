import type { DescService } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
} from "@connectrpc/connect";

/** Registers services, as for the adapters of Connect. */
export type Routes = (router: ConnectRouter) => void;

/** Called when the headers of a request are there, before anything of its body is read; throws to refuse the call. */
export type RequestGate = (context: HandlerContext) => void | Promise<void>;

/** What an rpc is served with, beside its implementation. */
export type RouteOptions = {
  /** The first one is the outermost. */
  readonly interceptors: readonly Interceptor[];
  readonly requestGate?: RequestGate | undefined;
  /** The most bytes of one message of a request, also when it is decompressed. */
  readonly readMaxBytes?: number | undefined;
};

/** An rpc that was registered. */
export type Route = { readonly spec: MethodImplSpec; readonly options: RouteOptions };

/** Calls the routes with a router that remembers what it is given; options of a service or an rpc win over those of all. */
export function collectRoutes(routes: Routes, base: RouteOptions): readonly Route[] {
  const collected: Route[] = [];
  const add = (spec: MethodImplSpec, own: Partial<RouteOptions> | undefined) =>
    void collected.push({ spec, options: { ...base, ...picked(own) } });
  const router: ConnectRouter = {
    // The handlers of Connect's own protocols, which are not used here.
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
  return collected;
}

function picked(own: Partial<RouteOptions> = {}): Partial<RouteOptions> {
  const { interceptors, requestGate, readMaxBytes } = own;
  return {
    ...(interceptors && { interceptors }),
    ...(requestGate && { requestGate }),
    ...(readMaxBytes !== undefined && { readMaxBytes }),
  };
}

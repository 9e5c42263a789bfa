import { createServer as createHttp1, type Server } from "node:http";
import { createServer as createHttp2, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { createRegistry } from "@bufbuild/protobuf";
import { type ConnectNodeAdapterOptions, connectNodeAdapter } from "@connectrpc/connect-node";
import { clientAddresses, clientAddressOf, networkOf, type Routes } from "@postern/gateway";
import type { Logger } from "pino";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import type { Config } from "../../src/config/config.ts";
import { capacity } from "../../src/guards/capacity.ts";
import { rateLimits } from "../../src/guards/enforce_rate_limits.ts";
import { report } from "../../src/guards/report.ts";
import { chooseLanguage } from "../../src/messages/catalogue.ts";
import { isStatementTimeout, isUnavailable } from "../../src/postgres/failure.ts";
import { issuerOf } from "../../src/provider/http/issuer.ts";
import { openRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { guardedServices } from "../../src/server/guarded_services.ts";
import { forAdapter } from "./adapter_guards.ts";
import type { Ports } from "./doors.ts";

/** The same service behind connect-node in place of the gateway, as one more node of the same instance, with more services. */
export async function startAdapter(
  config: Config,
  logger: Logger,
  more: Routes = () => {},
): Promise<AsyncDisposable & Ports> {
  await using opened = new AsyncDisposableStack();
  const runtime = opened.use(await openRuntime(config, { logger }));
  const { routes, ...options } = adapterOptions(runtime, config);
  const all: Routes = (router) => {
    routes(router);
    more(router);
  };
  const handle = connectNodeAdapter({ ...options, routes: all });
  // On a busy machine, seconds may pass between two calls of a client.
  const http1 = await listening(createHttp1({ keepAliveTimeout: 0 }, handle), opened);
  const http2 = await listening(createHttp2(handle), opened);
  const stack = opened.move();
  return { http1, http2, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Options that serve the instance through `connectNodeAdapter` instead of the gateway. */
function adapterOptions(runtime: Runtime, config: Config): ConnectNodeAdapterOptions {
  const lines = report({
    logger: runtime.logger,
    languageOf: chooseLanguage,
    outages: { isUnavailable, isStatementTimeout },
  });
  const { routes, contextValues, ...adapterGuards } = guardedServices(runtime, config, {
    lines,
    limits: rateLimits(config),
    capacity: capacity(config.callsMax),
    issuer: () => issuerOf(config, config.port),
  });
  const addresses = clientAddresses(config.trustedProxies);
  const namesOf = (peer: string | undefined, headers: Readonly<Record<string, string | string[] | undefined>>) => {
    const address = clientAddressOf(addresses, peer, headers["x-forwarded-for"]?.toString());
    return { address, network: address === undefined ? undefined : networkOf(address) };
  };
  return {
    ...forAdapter(adapterGuards, lines),
    routes,
    contextValues: ({ socket, headers }) => contextValues(namesOf(socket.remoteAddress, headers)),
    jsonOptions: { alwaysEmitImplicit: true, registry: createRegistry(file_google_rpc_error_details) },
  };
}

async function listening(server: Server | Http2Server, opened: AsyncDisposableStack): Promise<string> {
  opened.defer(() => promisify(server.close.bind(server))());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

import { createServer as createHttp1, type Server } from "node:http";
import { createServer as createHttp2, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Routes } from "@postern/gateway";
import type { Logger } from "pino";
import type { Config } from "../../src/config/config.ts";
import { openRuntime } from "../../src/runtime/runtime.ts";
import { adapterOptions } from "../../src/server/guarded_services.ts";
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
  const http1 = await listening(createHttp1(handle), opened);
  const http2 = await listening(createHttp2(handle), opened);
  const stack = opened.move();
  return { http1, http2, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function listening(server: Server | Http2Server, opened: AsyncDisposableStack): Promise<string> {
  opened.defer(() => promisify(server.close.bind(server))());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

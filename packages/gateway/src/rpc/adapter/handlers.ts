import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { type ConnectError, type ConnectRouter, createConnectRouter, createContextKey } from "@connectrpc/connect";
import type { Compression, UniversalHandler } from "@connectrpc/connect/protocol";
import { Health } from "../../../../../gen/grpc/health/v1/health_pb.ts";
import { decompressed, type Encoding, encodingNames, encodingOf } from "../../codec/compression.ts";
import { anyTypes } from "../../codec/json.ts";
import type { Rpc } from "../operations.ts";

/** What answers a request, and how that went; a Connect handler finds it in place of the request. */
export type Outcome = { refusal?: ConnectError; begun?: true; readonly answers: () => AsyncGenerator<Message> };

/** Under which a request brings its outcome to the handler. */
export const outcomeKey = createContextKey<Outcome | undefined>(undefined, { description: "outcome" });

/** An rpc and the Connect handler that writes its answers. */
export type Served = { readonly rpc: Rpc; readonly handler: UniversalHandler };

/** Connect handlers that write answers. */
export type Handlers = {
  readonly served: ReadonlyMap<string, Served>;
  /** For what is refused where there is no rpc. */
  readonly unary: UniversalHandler;
  readonly stream: UniversalHandler;
};

/** Makes a Connect handler for each rpc, and each kind of refusal. */
export function compileHandlers(rpcs: readonly Rpc[], messageMaxBytes: number): Handlers {
  const options = {
    acceptCompression: [...compressions],
    readMaxBytes: messageMaxBytes,
    jsonOptions: { alwaysEmitImplicit: true, ignoreUnknownFields: false, registry: anyTypes },
  };
  const handlerOf = (method: DescMethod): UniversalHandler => {
    const [handler] = route(createConnectRouter(options), method).handlers;
    if (!handler) throw new Error(`${method.name} has no Connect handler`);
    return handler;
  };
  return {
    served: new Map(rpcs.map((rpc) => [rpc.path, { rpc, handler: handlerOf(rpc.method) }])),
    unary: handlerOf(Health.method.check),
    stream: handlerOf(Health.method.watch),
  };
}

/** Requests are read by us, so one that streams looks like any other to the handler that writes the answers. */
function route(router: ConnectRouter, method: DescMethod): ConnectRouter {
  if (method.methodKind === "unary") return routeUnary(router, { ...method, methodKind: "unary" });
  return routeStream(router, { ...method, methodKind: "server_streaming" });
}

function routeUnary(router: ConnectRouter, method: DescMethodUnary): ConnectRouter {
  return router.rpc(method, async (_, { values }) => {
    for await (const answer of answersIn(values.get(outcomeKey))) return answer;
    throw new Error(`${method.name} answered nothing`);
  });
}

function routeStream(router: ConnectRouter, method: DescMethodServerStreaming): ConnectRouter {
  return router.rpc(method, (_, { values }) => answersIn(values.get(outcomeKey)));
}

async function* answersIn(outcome: Outcome | undefined): AsyncGenerator<Message> {
  if (outcome) yield* outcome.answers();
}

/** What answers may be compressed with, for Connect. */
export const compressions: readonly Compression[] = encodingNames.flatMap(compressionOf);

function compressionOf(name: string): Compression[] {
  const encoding = encodingOf(name, encodingNames);
  return encoding ? [asCompression(encoding)] : [];
}

function asCompression(encoding: Encoding): Compression {
  return {
    name: encoding.name,
    compress: async (bytes) => new Uint8Array(await encoding.compress(bytes)),
    decompress: async (bytes, most) => new Uint8Array(await decompressed(encoding, bytes, most)),
  };
}

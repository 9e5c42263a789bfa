import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, Message } from "@bufbuild/protobuf";
import { type ConnectError, type ConnectRouter, createConnectRouter, createContextKey } from "@connectrpc/connect";
import type { Compression, UniversalHandler } from "@connectrpc/connect/protocol";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { anyTypes } from "../json.ts";
import { decompressed, type Encoding, encodingNames, encodingOf } from "../lane/compression.ts";
import type { Operation, Operations } from "../operations.ts";

/** What answers a request, and how that went; a Connect handler finds it in place of the request. */
export type Outcome = { refusal?: ConnectError; begun?: true; readonly answers: () => AsyncGenerator<Message> };

/** Under which a request brings its outcome to the handler. */
export const outcomeKey = createContextKey<Outcome | undefined>(undefined, { description: "outcome" });

/** An operation and the Connect handler that writes its answers. */
export type Served = { readonly operation: Operation; readonly handler: UniversalHandler };

/** Connect handlers by path. */
export type Handlers = {
  readonly ours: ReadonlyMap<string, Served>;
  /** Handlers of services that are no operations of ours; they read their requests themselves. */
  readonly standard: ReadonlyMap<string, UniversalHandler>;
  /** For what is refused where there is no operation. */
  readonly unary: UniversalHandler;
  readonly stream: UniversalHandler;
};

/** What handlers are made of. */
export type HandlerParts = {
  readonly operations: Operations;
  readonly standard: (router: ConnectRouter) => void;
  readonly messageMaxBytes: number;
};

/** Makes a Connect handler for each operation, each standard rpc, and each kind of refusal. */
export function compileHandlers({ operations, standard, messageMaxBytes }: HandlerParts): Handlers {
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
  const served = [...operations.values()].map((operation) => ({ operation, handler: handlerOf(operation.method) }));
  const others = createConnectRouter(options);
  standard(others);
  return {
    ours: new Map(served.map((one) => [one.operation.path, one])),
    standard: new Map(others.handlers.map((handler) => [handler.requestPath, handler])),
    unary: handlerOf(Health.method.check),
    stream: handlerOf(Health.method.watch),
  };
}

function route(router: ConnectRouter, method: DescMethod): ConnectRouter {
  switch (method.methodKind) {
    case "unary":
      return routeUnary(router, { ...method, methodKind: "unary" });
    case "server_streaming":
      return routeStream(router, { ...method, methodKind: "server_streaming" });
    default:
      throw new Error(`${method.name} streams its requests, which is for standard services`);
  }
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
export const compressions: readonly Compression[] = encodingNames.split(",").flatMap(compressionOf);

function compressionOf(name: string): Compression[] {
  const encoding = encodingOf(name);
  return encoding ? [asCompression(encoding)] : [];
}

function asCompression(encoding: Encoding): Compression {
  return {
    name: encoding.name,
    compress: async (bytes) => new Uint8Array(await encoding.compress(bytes)),
    decompress: async (bytes, most) => new Uint8Array(await decompressed(encoding, bytes, most)),
  };
}

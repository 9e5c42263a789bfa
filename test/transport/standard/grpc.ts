import { createServer, type Http2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import {
  create,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Client, type ClientReadableStream, credentials, type MethodDefinition } from "@grpc/grpc-js";

/** Serves what a router holds over HTTP/2, with nothing else around it. */
export async function openRouter(routes: (router: ConnectRouter) => void): Promise<AsyncDisposable & { url: string }> {
  const server = createServer(connectNodeAdapter({ routes }));
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A gRPC client of somebody else's making. */
export function grpcClient(url: string) {
  const client = new Client(new URL(url).host, credentials.createInsecure());
  return {
    [Symbol.dispose]: () => client.close(),

    unary<M extends DescMethod>(method: M, init: MessageInitShape<M["input"]>): Promise<MessageShape<M["output"]>> {
      const { path, requestSerialize, responseDeserialize } = definition(method);
      const request = create(method.input, init);
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) =>
          error ? reject(error) : resolve(answer as MessageShape<M["output"]>),
        );
      });
    },

    watch<M extends DescMethod>(method: M, init: MessageInitShape<M["input"]>) {
      const { path, requestSerialize, responseDeserialize } = definition(method);
      const call = client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(method.input, init),
      );
      return call as ClientReadableStream<MessageShape<M["output"]>>;
    },

    /** Asks all, then says that this was all, and collects the answers. */
    async converse<M extends DescMethod>(method: M, inits: readonly MessageInitShape<M["input"]>[]) {
      const { path, requestSerialize, responseDeserialize } = definition(method);
      const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
      for (const init of inits) call.write(create(method.input, init));
      call.end();
      return collected(call as AsyncIterable<MessageShape<M["output"]>>);
    },
  };
}

function definition(method: DescMethod): MethodDefinition<object, object> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "bidi_streaming",
    responseStream: method.methodKind !== "unary",
    requestSerialize: (message) => Buffer.from(toBinary(method.input, message as MessageShape<typeof method.input>)),
    requestDeserialize: (bytes) => fromBinary(method.input, bytes),
    responseSerialize: (message) => Buffer.from(toBinary(method.output, message as MessageShape<typeof method.output>)),
    responseDeserialize: (bytes) => fromBinary(method.output, bytes),
  };
}

/** All that a stream brings. */
export async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

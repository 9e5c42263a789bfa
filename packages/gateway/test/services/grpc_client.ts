import {
  create,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, type ClientReadableStream, credentials, type MethodDefinition } from "@grpc/grpc-js";
import type { GatewayLimits } from "../../src/gateway.ts";
import { openSample, type SampleOptions } from "../sample_gateway.ts";

/** Serves health and reflection beside a service that is never called. */
export async function openStandard(options: SampleOptions = {}, limits: Partial<GatewayLimits> = {}) {
  const stopping = new AbortController();
  const port = await openSample(limits, { stopping, ...options });
  const client = grpcClient(port.url);
  const close = async () => {
    client[Symbol.dispose]();
    await port[Symbol.asyncDispose]();
  };
  return { url: port.url, client, stopping, [Symbol.asyncDispose]: close };
}

/** The gRPC client of @grpc/grpc-js. */
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

    /** Opens the stream. */
    open(method: DescMethod) {
      const { path, requestSerialize, responseDeserialize } = definition(method);
      return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    },

    /** Sends all requests, ends the stream, and collects the responses. */
    async converse<M extends DescMethod>(method: M, inits: readonly MessageInitShape<M["input"]>[]) {
      const call = this.open(method);
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

/** All messages of a stream. */
export async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of stream) all.push(one);
  return all;
}

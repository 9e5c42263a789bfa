import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, type Channel, ClientError, createChannel, createClient, Metadata } from "nice-grpc";
import { afterAll, beforeAll } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import type { Client, ClientCall } from "./client.ts";
import { answered, detailsIn, grpcTimeout, jsonOf, listen, messageOf, refused } from "./client.ts";
import { hearsStreams, keepsPromises } from "./promises.ts";

let postern: Postern;
let channel: Channel;
beforeAll(async () => {
  postern = await startPostern();
  channel = createChannel(new URL(postern.url).host);
});
afterAll(() => {
  channel?.close();
  return postern?.[Symbol.asyncDispose]();
});

const client: Client = {
  deadline: grpcTimeout,
  async call(clientCall) {
    const got = Metadata();
    const keep = (metadata: Metadata) => {
      for (const [name, values] of metadata) got.set(name, values);
    };
    // nice-grpc itself has no deadlines; what it sends as metadata, the server keeps.
    const metadata = Metadata({
      ...clientCall.headers,
      ...(clientCall.timeoutMs && grpcTimeout(clientCall.timeoutMs)),
    });
    const rpc = rpcOf(clientCall) as (request: Message, options: CallOptions) => Promise<Message>;
    try {
      const answer = await rpc(messageOf(clientCall), { metadata, onHeader: keep, onTrailer: keep });
      return answered(jsonOf(clientCall.method, answer), headersOf(got));
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      const details = detailsIn(got.get("grpc-status-details-bin"));
      return refused({ code: error.code, message: error.details, details }, headersOf(got));
    }
  },
  watch: async (clientCall) =>
    listen(async function* (signal) {
      const metadata = Metadata({ ...clientCall.headers });
      const rpc = rpcOf(clientCall) as (request: Message, options: CallOptions) => AsyncIterable<Message>;
      for await (const message of rpc(messageOf(clientCall), { metadata, signal }))
        yield jsonOf(clientCall.method, message);
    }),
};

const rpcOf = ({ method }: ClientCall) =>
  createClient(Object.fromEntries(method.parent.methods.map((one) => [one.localName, definitionOf(one)])), channel)[
    method.localName
  ] as unknown;

/** Makes the definition that nice-grpc expects of generated code, from the descriptor of an rpc. */
function definitionOf({ parent, name, methodKind, input, output }: DescMethod) {
  return {
    path: `/${parent.typeName}/${name}`,
    requestStream: false,
    responseStream: methodKind === "server_streaming",
    requestSerialize: (message: Message) => toBinary(input, message),
    requestDeserialize: (bytes: Uint8Array) => fromBinary(input, bytes),
    responseSerialize: (message: Message) => toBinary(output, message),
    responseDeserialize: (bytes: Uint8Array) => fromBinary(output, bytes),
    options: {},
  };
}

const headersOf = (metadata: Metadata) =>
  Object.fromEntries([...metadata].map(([name, values]) => [name, values.join(", ")]));

keepsPromises(() => ({ postern, client }));
hearsStreams(() => ({ postern, client }));

import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { credentials, Client as GrpcJs, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import type { Client, ClientAnswer, ClientCall } from "./client.ts";
import { answered, detailsIn, grpcTimeout, jsonOf, listen, messageOf, refused } from "./client.ts";
import { hearsStreams, keepsPromises } from "./promises.ts";

let postern: Postern;
let grpcJs: GrpcJs;
beforeAll(async () => {
  postern = await startPostern();
  grpcJs = new GrpcJs(new URL(postern.url).host, credentials.createInsecure());
});
afterAll(() => {
  grpcJs?.close();
  return postern?.[Symbol.asyncDispose]();
});

const client: Client = {
  deadline: grpcTimeout,
  call: (clientCall) =>
    new Promise((resolve) => {
      const head = new Metadata();
      const deadline = clientCall.timeoutMs ? { deadline: Date.now() + clientCall.timeoutMs } : {};
      grpcJs
        .makeUnaryRequest(...wire(clientCall), metadataOf(clientCall), deadline, (error, answer) => {
          if (error) resolve(refusedBy(error));
          else resolve(answered(jsonOf(clientCall.method, answer as Message), headersOf(head)));
        })
        .on("metadata", (got) => head.merge(got));
    }),
  watch: async (clientCall) =>
    listen(async function* (signal) {
      const stream = grpcJs.makeServerStreamRequest(...wire(clientCall), metadataOf(clientCall));
      signal.addEventListener("abort", () => stream.cancel());
      for await (const message of stream) yield jsonOf(clientCall.method, message);
    }),
};

/** Does the work of a generated client: the path, and the conversion of messages to bytes. */
function wire(clientCall: ClientCall) {
  const { method }: { method: DescMethod } = clientCall;
  return [
    `/${method.parent.typeName}/${method.name}`,
    (message: Message) => Buffer.from(toBinary(method.input, message)),
    (bytes: Buffer): Message => fromBinary(method.output, bytes),
    messageOf(clientCall),
  ] as const;
}

function metadataOf({ headers = {} }: ClientCall): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

const headersOf = (metadata: Metadata) =>
  Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, String(value)]));

function refusedBy({ code, details: message, metadata }: ServiceError): ClientAnswer {
  const [bytes] = metadata.get("grpc-status-details-bin");
  return refused({ code, message, details: detailsIn(bytes as Buffer | undefined) }, headersOf(metadata));
}

keepsPromises(() => ({ postern, client }));
hearsStreams(() => ({ postern, client }));

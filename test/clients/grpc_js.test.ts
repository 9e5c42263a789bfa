import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { credentials, Client as GrpcJs, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll } from "vitest";
import { type Postern, startPostern } from "../harness.ts";
import { hearsStreams, keepsPromises } from "./promises.ts";
import type { Asked, Client, Told } from "./told.ts";
import { answered, detailsIn, grpcTimeout, jsonOf, listen, messageOf, refused } from "./told.ts";

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
  call: (asked) =>
    new Promise((resolve) => {
      const head = new Metadata();
      const deadline = asked.timeoutMs ? { deadline: Date.now() + asked.timeoutMs } : {};
      grpcJs
        .makeUnaryRequest(...wire(asked), metadataOf(asked), deadline, (error, answer) => {
          if (error) resolve(refusedBy(error));
          else resolve(answered(jsonOf(asked.method, answer as Message), headersOf(head)));
        })
        .on("metadata", (got) => head.merge(got));
    }),
  watch: async (asked) =>
    listen(async function* (signal) {
      const stream = grpcJs.makeServerStreamRequest(...wire(asked), metadataOf(asked));
      signal.addEventListener("abort", () => stream.cancel());
      for await (const message of stream) yield jsonOf(asked.method, message);
    }),
};

/** What a generated client is: the path, and how messages become bytes. */
function wire(asked: Asked) {
  const { method }: { method: DescMethod } = asked;
  return [
    `/${method.parent.typeName}/${method.name}`,
    (message: Message) => Buffer.from(toBinary(method.input, message)),
    (bytes: Buffer): Message => fromBinary(method.output, bytes),
    messageOf(asked),
  ] as const;
}

function metadataOf({ headers = {} }: Asked): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

const headersOf = (metadata: Metadata) =>
  Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, String(value)]));

function refusedBy({ code, details: message, metadata }: ServiceError): Told {
  const [bytes] = metadata.get("grpc-status-details-bin");
  return refused({ code, message, details: detailsIn(bytes as Buffer | undefined) }, headersOf(metadata));
}

keepsPromises(() => ({ postern, client }));
hearsStreams(() => ({ postern, client }));

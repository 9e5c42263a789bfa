import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, createFileRegistry, type FileRegistry, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { anyTypes } from "../../packages/gateway/src/codec/json.ts";
import { listen } from "../../packages/gateway/src/http/server.ts";
import { adapterRoom } from "../../packages/gateway/src/rpc/adapter/room.ts";
import { jsonDoor } from "../../packages/gateway/src/rpc/door.ts";
import { lane } from "../../packages/gateway/src/rpc/lane/lane.ts";
import { newId } from "../../src/deps.ts";
import { aside, asideKey, withAsides } from "./aside.ts";
import { conformanceService } from "./service.ts";

type Asked = Message & {
  readonly useTls: boolean;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
};

/** A server as the official suite asks for it: one request on standard input, one answer on standard output. */
async function serve(descriptors: string, setting: string): Promise<void> {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(descriptors)));
  const asked = fromBinary(typeOf(registry, "ServerCompatRequest"), await readSized(process.stdin)) as Asked;
  const folder = await mkdtemp(join(tmpdir(), "postern-conformance-"));
  const listening = await open(asked, { registry, folder, fast: setting === "on" });
  process.on("SIGTERM", async () => {
    await listening[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const port = Number(new URL(listening.url).port);
  const pemCert = asked.serverCreds?.cert ?? new Uint8Array();
  const answer = typeOf(registry, "ServerCompatResponse");
  writeSized(toBinary(answer, create(answer, { host: "127.0.0.1", port, pemCert })));
}

type Around = { readonly registry: FileRegistry; readonly folder: string; readonly fast: boolean };

async function open(asked: Asked, { registry, folder, fast }: Around) {
  const limits = { ...plain, messageMaxBytes: asked.messageReceiveLimit || plain.messageMaxBytes };
  const { operations, standard } = conformanceService(registry, refused);
  // The suite's own messages travel in an Any, which no contract of ours lets them.
  const { getMessage } = anyTypes;
  anyTypes.getMessage = (name) => registry.getMessage(name) ?? getMessage.call(anyTypes, name);
  const stopping = new AbortController();
  const parts = { operations, rules: () => () => [], newCall, refused, ready: () => true, limits };
  return listen({
    ...{ host: "127.0.0.1", port: 0, limits, stopping },
    door: jsonDoor(parts, [adapterRoom({ ...parts, standard })]),
    lane: withAsides(lane({ ...parts, protocols: fast })),
    certificate: asked.serverCreds && (await certificateIn(folder, asked.serverCreds)),
  });
}

const plain = {
  messageMaxBytes: 4_194_304,
  headersMaxBytes: 65_536,
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  idleTimeoutMs: 60_000,
  deadlineMaxMs: 60_000,
  streamsMax: 1000,
  connectionAgeMs: 0,
  // The suite calls from one address, without a token, with large messages at once.
  bodiesMaxBytes: 2,
  unknownStreamsMax: 100_000 ** 32,
  shutdownGraceMs: 1000,
};

function newCall() {
  return { requestId: newId(), values: createContextValues().set(asideKey, aside()) };
}

/** With the reason for us, but without details on the wire: the suite expects none, and every refusal of ours says its reason in one. */
function refused(error: unknown): ConnectError {
  if (!(error instanceof ConnectError)) return new ConnectError("internal", Code.Internal);
  if (error.findDetails(ErrorInfoSchema).length === 0) return error;
  const bare = new ConnectError(error.rawMessage, error.code, error.metadata);
  return Object.assign(bare, { findDetails: error.findDetails.bind(error) });
}

async function certificateIn(folder: string, { cert, key }: NonNullable<Asked["serverCreds"]>) {
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key, { mode: 0o600 })]);
  return { certFile, keyFile };
}

function typeOf(registry: FileRegistry, name: string) {
  const type = registry.getMessage(`connectrpc.conformance.v1.${name}`);
  if (!type) throw new Error(`the suite has no ${name}`);
  return type;
}

async function readSized(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  let bytes = Buffer.of();
  for await (const part of stream) {
    bytes = Buffer.concat([bytes, part]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE())
      return bytes.subarray(4, 4 + bytes.readUInt32BE());
  }
  throw new Error("standard input ended before the request did");
}

function writeSized(message: Uint8Array): void {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(message.length);
  process.stdout.write(Buffer.concat([size, message]));
}

const [descriptors = "", setting = "on"] = process.argv.slice(2);
await serve(descriptors, setting);

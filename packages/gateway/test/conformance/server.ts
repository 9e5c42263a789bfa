import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, createFileRegistry, type FileRegistry, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { gateway, gatewayReasons } from "../../src/gateway.ts";
import { conformanceRoutes } from "./service.ts";

type ServerRequest = Message & {
  readonly useTls: boolean;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
};

/** A server for the official suite: reads one request from standard input, and writes one response to standard output. */
async function serve(descriptors: string): Promise<void> {
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(descriptors)));
  const request = fromBinary(typeOf(registry, "ServerCompatRequest"), await readSized(process.stdin)) as ServerRequest;
  const folder = await mkdtemp(join(tmpdir(), "postern-conformance-"));
  const listening = await open(request, registry, folder);
  process.on("SIGTERM", async () => {
    await listening[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });
  const port = Number(new URL(listening.url).port);
  const pemCert = request.serverCreds?.cert ?? new Uint8Array();
  const answer = typeOf(registry, "ServerCompatResponse");
  writeSized(toBinary(answer, create(answer, { host: "127.0.0.1", port, pemCert })));
}

async function open(request: ServerRequest, registry: FileRegistry, folder: string) {
  const served = gateway({
    routes: conformanceRoutes(registry),
    registry,
    limits: {
      messageMaxBytes: request.messageReceiveLimit || 4_194_304,
      headersMaxBytes: 65_536,
      streamsMax: 1000,
      // The suite calls from one address, without a token, with large messages at once.
      bodiesMaxBytes: 2 ** 32,
      unknownStreamsMax: 100_000,
      shutdownGraceMs: 1000,
    },
    // The suite expects errors without details.
    refuse: (reason, { metadata, cause }) =>
      new ConnectError(reason.toLowerCase(), gatewayReasons[reason], metadata, undefined, cause),
  });
  return served.listen({ certificate: request.serverCreds && (await certificateIn(folder, request.serverCreds)) });
}

async function certificateIn(folder: string, { cert, key }: NonNullable<ServerRequest["serverCreds"]>) {
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

await serve(process.argv[2] ?? "");

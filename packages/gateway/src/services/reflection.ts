import type { DescFile, DescService, Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import type { Refuse } from "../errors/gateway_error.ts";
import { cutText } from "../errors/violation.ts";
import { opensAtOnce } from "../rpc/pipeline.ts";
import { ownTick } from "./own_tick.ts";
import { type Symbols, symbolsOf } from "./symbols.ts";

/** A query of `grpc.reflection`, the same in v1 and v1alpha. */
export type ReflectionQuery =
  | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
  | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
  | { readonly case: "fileContainingExtension"; readonly value: Extension }
  | { readonly case: undefined; readonly value?: undefined };

type Extension = { readonly containingType: string; readonly extensionNumber: number };

/** The common form of a request of both versions. */
export type ReflectionRequest = Message & { readonly host: string; readonly messageRequest: ReflectionQuery };

/** Describes the services to tools. */
export function reflection(services: readonly DescService[], refuse: Refuse) {
  // No service imports the details of errors, but a tool that only has reflection needs their types to decode them. Few nodes are ever
  // asked, and it takes 15 ms.
  let made: Symbols | undefined;
  const symbols = () =>
    (made ??= symbolsOf([...new Set(services.map(({ file }) => file)), file_google_rpc_error_details]));
  async function* respondEach<R extends ReflectionRequest>(requests: AsyncIterable<R>) {
    const state: StreamState = { services, symbols: symbols(), sent: new Set(), bytes: 0, repeated: 0 };
    let queries = 0;
    for await (const request of requests) {
      queries += 1;
      if (queries > maxQueries || state.bytes > mostFileBytes(state.symbols) || state.repeated > maxRepeatedBytes)
        throw refuse("OVERLOADED", { retrySeconds: 1 });
      state.repeated += repeatedBytes(request);
      await ownTick();
      const messageResponse = respond(state, request.messageRequest);
      yield { validHost: request.host, originalRequest: request, messageResponse };
    }
  }
  // A tool may wait for the headers before it sends a query.
  return <R extends ReflectionRequest>(requests: AsyncIterable<R>) => opensAtOnce(respondEach(requests));
}

// A tool queries each service once; one that needs more opens another stream. A response repeats its request, which may take 60 bytes
// compressed and 16 KiB decompressed.
const maxQueries = 100;
const maxRepeatedBytes = 2 ** 14;

/** A 15-byte query yields a whole file, even one sent before as the import of another: each file twice, however large the contract. */
const mostFileBytes = ({ bytes }: Symbols): number =>
  2 * [...bytes.values()].reduce((sum, { length }) => sum + length, 0);

/** The number of bytes of a request that its response repeats, including the host twice. */
function repeatedBytes({ host, messageRequest: { value = "" } }: ReflectionRequest): number {
  return 2 * Buffer.byteLength(host) + Buffer.byteLength(typeof value === "string" ? value : value.containingType);
}

/** The state of one stream: the files that its client already has, their size, and the size of its requests. */
type StreamState = {
  readonly services: readonly DescService[];
  readonly symbols: Symbols;
  readonly sent: Set<DescFile>;
  bytes: number;
  repeated: number;
};

function respond(state: StreamState, query: ReflectionQuery) {
  const { services, symbols } = state;
  switch (query.case) {
    case "fileByFilename":
      return fileResponse(state, symbols.files.get(query.value), `file ${query.value}`);
    case "fileContainingSymbol":
      return fileResponse(state, symbols.fileOf.get(query.value.replace(/^\./, "")), `symbol ${query.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = query.value;
      const extension = extensionsOf(symbols, containingType).find(({ number }) => number === extensionNumber);
      return fileResponse(state, extension?.file, `extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType":
      return numbers(symbols, query.value);
    case "listServices":
      return listed(services);
    case undefined:
      return failed(Code.InvalidArgument, "the request asks nothing");
  }
}

/** A file with its imports, except those that the client has from an earlier response in the stream. */
function fileResponse(state: StreamState, file: DescFile | undefined, subject: string) {
  const { symbols, sent } = state;
  if (!file) return failed(Code.NotFound, `${subject} does not exist`);
  const missing = symbols.closures.get(file)?.filter((one) => one === file || !sent.has(one)) ?? [];
  for (const one of missing) sent.add(one);
  const value = { fileDescriptorProto: missing.flatMap((one) => symbols.bytes.get(one) ?? []) };
  for (const { length } of value.fileDescriptorProto) state.bytes += length;
  return { case: "fileDescriptorResponse", value } as const;
}

function numbers(symbols: Symbols, type: string) {
  if (!symbols.messages.has(type)) return failed(Code.NotFound, `message ${type} does not exist`);
  const extensionNumber = extensionsOf(symbols, type).map(({ number }) => number);
  return { case: "allExtensionNumbersResponse", value: { baseTypeName: type, extensionNumber } } as const;
}

const extensionsOf = ({ extensions }: Symbols, type: string) =>
  extensions.filter(({ extendee }) => extendee.typeName === type);

function listed(services: readonly DescService[]) {
  const service = services.map(({ typeName }) => ({ name: typeName })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { case: "listServicesResponse", value: { service } } as const;
}

function failed(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse", value: { errorCode, errorMessage: cutText(errorMessage) } } as const;
}

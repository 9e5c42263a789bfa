import type { DescFile, DescService, Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import type { Refuse } from "../errors/gateway_error.ts";
import { cutText } from "../errors/violation.ts";
import { opensAtOnce } from "../rpc/pipeline.ts";
import { type Symbols, symbolsOf } from "./symbols.ts";

/** A question of `grpc.reflection`, the same in v1 and v1alpha. */
export type Question =
  | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
  | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
  | { readonly case: "fileContainingExtension"; readonly value: Extension }
  | { readonly case: undefined; readonly value?: undefined };

type Extension = { readonly containingType: string; readonly extensionNumber: number };

/** A request as both versions have it. */
export type Inquiry = Message & { readonly host: string; readonly messageRequest: Question };

/** Answers what the services are made of. */
export function reflection(services: readonly DescService[], refuse: Refuse) {
  // No service names the details of its refusals, yet a tool that knows the contract by reflection alone has to read them.
  const symbols = symbolsOf([...new Set(services.map(({ file }) => file)), file_google_rpc_error_details]);
  async function* answers<R extends Inquiry>(requests: AsyncIterable<R>) {
    const known: Known = { services, symbols, sent: new Set(), bytes: 0 };
    let asked = 0;
    for await (const request of requests) {
      asked += 1;
      if (asked > mostQuestions || known.bytes > mostBytes) throw refuse("OVERLOADED", { retrySeconds: 1 });
      known.bytes += echoedBytes(request);
      const messageResponse = answer(known, request.messageRequest);
      yield { validHost: request.host, originalRequest: request, messageResponse };
    }
  }
  // A tool may wait for the headers before it asks.
  return <R extends Inquiry>(requests: AsyncIterable<R>) => opensAtOnce(answers(requests));
}

// A question of 15 bytes is answered by all of a file. A tool asks for each service once, and all files together have
// 56 KB; for more it begins another stream. An answer repeats its question, which may take 60 bytes compressed and 16 KiB unpacked.
const mostQuestions = 100;
const mostBytes = 2 ** 18;

/** How many bytes of a question its answer repeats: the host twice. */
function echoedBytes({ host, messageRequest: { value = "" } }: Inquiry): number {
  return 2 * Buffer.byteLength(host) + Buffer.byteLength(typeof value === "string" ? value : value.containingType);
}

/** What a stream of questions is answered from, and what its client has: files, and bytes of answers. */
type Known = {
  readonly services: readonly DescService[];
  readonly symbols: Symbols;
  readonly sent: Set<DescFile>;
  bytes: number;
};

function answer(known: Known, question: Question) {
  const { services, symbols } = known;
  switch (question.case) {
    case "fileByFilename":
      return described(known, symbols.files.get(question.value), `file ${question.value}`);
    case "fileContainingSymbol":
      return described(known, symbols.fileOf.get(question.value.replace(/^\./, "")), `symbol ${question.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      const found = extensionsOf(symbols, containingType).find(({ number }) => number === extensionNumber);
      return described(known, found?.file, `extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType":
      return numbers(symbols, question.value);
    case "listServices":
      return listed(services);
    case undefined:
      return failed(Code.InvalidArgument, "the request asks nothing");
  }
}

/** A file with those that it imports, as far as the client does not have them from an earlier answer of the stream. */
function described(known: Known, file: DescFile | undefined, what: string) {
  const { symbols, sent } = known;
  if (!file) return failed(Code.NotFound, `${what} does not exist`);
  const wanted = symbols.closures.get(file)?.filter((one) => one === file || !sent.has(one)) ?? [];
  for (const one of wanted) sent.add(one);
  const value = { fileDescriptorProto: wanted.flatMap((one) => symbols.bytes.get(one) ?? []) };
  for (const { length } of value.fileDescriptorProto) known.bytes += length;
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

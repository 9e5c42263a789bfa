import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { closure, symbolsOf } from "./symbols.ts";

/** A question of `grpc.reflection`, the same in v1 and v1alpha. */
export type Question =
  | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
  | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
  | { readonly case: "fileContainingExtension"; readonly value: Extension }
  | { readonly case: undefined; readonly value?: undefined };

type Extension = { readonly containingType: string; readonly extensionNumber: number };

/** A request as both versions have it. */
export type Inquiry = { readonly host: string; readonly messageRequest: Question };

/** Answers what the services are made of. */
export function reflection(services: readonly DescService[]) {
  const { files, fileOf, messages, extensions } = symbolsOf([...new Set(services.map(({ file }) => file))]);
  const bytes = new Map<DescFile, Uint8Array>();

  return async function* serverReflectionInfo<R extends Inquiry>(requests: AsyncIterable<R>) {
    for await (const request of requests) {
      const messageResponse = answer(request.messageRequest);
      yield { validHost: request.host, originalRequest: request, messageResponse };
    }
  };

  function answer(question: Question) {
    switch (question.case) {
      case "fileByFilename":
        return described(files.get(question.value), `file ${question.value}`);
      case "fileContainingSymbol":
        return described(fileOf.get(question.value.replace(/^\./, "")), `symbol ${question.value}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        const found = extensionsOf(containingType).find(({ number }) => number === extensionNumber);
        return described(found?.file, `extension ${extensionNumber} of ${containingType}`);
      }
      case "allExtensionNumbersOfType":
        return numbers(question.value);
      case "listServices":
        return listed(services);
      case undefined:
        return failed(Code.InvalidArgument, "the request asks nothing");
    }
  }

  function described(file: DescFile | undefined, what: string) {
    if (!file) return failed(Code.NotFound, `${what} does not exist`);
    const value = { fileDescriptorProto: closure(file).map(bytesOf) };
    return { case: "fileDescriptorResponse", value } as const;
  }

  function bytesOf(file: DescFile): Uint8Array {
    const written = bytes.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
    bytes.set(file, written);
    return written;
  }

  function numbers(type: string) {
    if (!messages.has(type)) return failed(Code.NotFound, `message ${type} does not exist`);
    const extensionNumber = extensionsOf(type).map(({ number }) => number);
    return { case: "allExtensionNumbersResponse", value: { baseTypeName: type, extensionNumber } } as const;
  }

  function extensionsOf(type: string) {
    return extensions.filter(({ extendee }) => extendee.typeName === type);
  }
}

function listed(services: readonly DescService[]) {
  const service = services.map(({ typeName }) => ({ name: typeName })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { case: "listServicesResponse", value: { service } } as const;
}

function failed(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse", value: { errorCode, errorMessage } } as const;
}

import { type DescExtension, type DescFile, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** The declarations of a set of files and all their imports. */
export type Symbols = {
  readonly files: ReadonlyMap<string, DescFile>;
  /** The serialized descriptor of each file. */
  readonly bytes: ReadonlyMap<DescFile, Uint8Array>;
  /** Each file with all its imports; a file precedes its own imports. */
  readonly closures: ReadonlyMap<DescFile, readonly DescFile[]>;
  /** The file that declares a full name of a service, method, message, field, oneof, enum, value or extension. */
  readonly fileOf: ReadonlyMap<string, DescFile>;
  readonly messages: ReadonlySet<string>;
  readonly extensions: readonly DescExtension[];
};

/** Indexes the files. */
export function symbolsOf(roots: readonly DescFile[]): Symbols {
  const files = [...new Set(roots.flatMap(closure))];
  const messages = files.flatMap((file) => file.messages.flatMap(withNested));
  const extensions = [...files.flatMap((file) => file.extensions), ...messages.flatMap((one) => one.nestedExtensions)];
  return {
    files: new Map(files.map((file) => [nameOf(file), file])),
    bytes: new Map(files.map((file) => [file, toBinary(FileDescriptorProtoSchema, file.proto)])),
    closures: new Map(files.map((file) => [file, closure(file)])),
    fileOf: new Map(files.flatMap((file) => namesIn(file).map((name) => [name, file] as const))),
    messages: new Set(messages.map(({ typeName }) => typeName)),
    extensions,
  };
}

/** The name that imports use. */
const nameOf = (file: DescFile): string => `${file.name}.proto`;

const closure = (file: DescFile): DescFile[] => importsFirst(file).toReversed();

function importsFirst(file: DescFile): DescFile[] {
  return [...new Set([...file.dependencies.flatMap(importsFirst), file])];
}

const withNested = (message: DescMessage): DescMessage[] => [message, ...message.nestedMessages.flatMap(withNested)];

function namesIn(file: DescFile): string[] {
  const messages = file.messages.flatMap(withNested);
  const enums = [...file.enums, ...messages.flatMap((one) => one.nestedEnums)];
  const extensions = [...file.extensions, ...messages.flatMap((one) => one.nestedExtensions)];
  return [
    ...messages.flatMap(({ typeName, fields, oneofs }) => [
      typeName,
      ...[...fields, ...oneofs].map(({ name }) => `${typeName}.${name}`),
    ]),
    // The values of an enum are its siblings, as in C++.
    ...enums.flatMap(({ typeName, values }) => [typeName, ...values.map(({ name }) => sibling(typeName, name))]),
    ...extensions.map(({ typeName }) => typeName),
    ...file.services.flatMap(({ typeName, methods }) => [
      typeName,
      ...methods.map(({ name }) => `${typeName}.${name}`),
    ]),
  ];
}

const sibling = (typeName: string, name: string) => typeName.replace(/[^.]*$/, name);

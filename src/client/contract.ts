import {
  create,
  createFileRegistry,
  createRegistry,
  type DescMethod,
  type DescService,
  fromBinary,
  type Registry,
} from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { ServerReflection } from "@postern/gateway";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { contract } from "../contract/services.ts";
import { UsageError } from "./usage_error.ts";

/** The services of a server, and the types that their messages may contain. */
export type Contract = { readonly services: readonly DescService[]; readonly types: Registry };

const ours: readonly DescService[] = Object.values(contract).sort((a, b) => (a.name < b.name ? -1 : 1));

/** The contract that this program was built with. */
export const ownContract: Contract = {
  services: ours,
  types: createRegistry(file_google_rpc_error_details, ...ours.map(({ file }) => file)),
};

// A server is expected to list at most this many services; ours answers that many queries in one stream.
const maxServices = 99;

/** Asks a server for its contract by reflection. If reflection is off or cannot be reached, this program's own contract is used. */
export async function contractOf(transport: Transport, signal: AbortSignal): Promise<Contract> {
  try {
    return await reflected(transport, signal);
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    // If the server does not respond at all, a call would not work either.
    if (error.code === Code.Unavailable) throw error;
    return ownContract;
  }
}

async function reflected(transport: Transport, signal: AbortSignal): Promise<Contract> {
  const { serverReflectionInfo } = createClient(ServerReflection, transport);
  const names: string[] = [];
  for await (const { messageResponse } of serverReflectionInfo(queries("listServices", [""]), { signal }))
    if (messageResponse.case === "listServicesResponse")
      names.push(...messageResponse.value.service.map(({ name }) => name).slice(0, maxServices));
  const files = new Map<string, FileDescriptorProto>();
  for await (const { messageResponse } of serverReflectionInfo(queries("fileContainingSymbol", names), { signal })) {
    if (messageResponse.case !== "fileDescriptorResponse") continue;
    for (const bytes of messageResponse.value.fileDescriptorProto) {
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      files.set(file.name, file);
    }
  }
  return contractIn(files, names);
}

async function* queries(kind: "listServices" | "fileContainingSymbol", values: readonly string[]) {
  for (const value of values) yield { messageRequest: { case: kind, value } };
}

function contractIn(files: ReadonlyMap<string, FileDescriptorProto>, names: readonly string[]): Contract {
  const read = createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(files) }));
  const types = createRegistry(file_google_rpc_error_details, read);
  return { services: names.flatMap((name) => types.getService(name) ?? []), types };
}

/** Orders the files so that each follows those it imports. */
function importsFirst(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const begun = new Set<string>();
  const add = (name: string): void => {
    const file = files.get(name);
    if (!file || begun.has(name)) return;
    begun.add(name);
    file.dependency.forEach(add);
    ordered.add(file);
  };
  for (const name of files.keys()) add(name);
  return [...ordered];
}

/** Finds a method by name, such as UserService/GetUser; the package may be omitted. */
export function methodNamed({ services }: Contract, name: string): DescMethod {
  const [, serviceName = "", methodName = ""] = /^\/?(.*?)[/.]([^/.]+)$/.exec(name) ?? [];
  const service = serviceNamed(services, serviceName);
  if (!service) throw new UsageError(`There is no method ${shownName(name)}: postern call lists them`);
  const method = service.methods.find((one) => one.name === methodName);
  if (method) return method;
  const others = service.methods.map((one) => one.name).join(", ");
  throw new UsageError(`${service.name} has no method ${shownName(methodName)}, but ${others}`);
}

/** Finds a service by name, with or without its package. */
export function serviceNamed(services: readonly DescService[], name: string): DescService | undefined {
  return services.find(({ typeName }) => typeName === name) ?? services.find((service) => service.name === name);
}

const shownName = (name: string) => JSON.stringify(name.slice(0, 100));

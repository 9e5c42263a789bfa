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
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { AuthorizationService } from "../../gen/postern/v1/authorization_pb.ts";
import { ConsentService } from "../../gen/postern/v1/consent_pb.ts";
import { DeliveryService } from "../../gen/postern/v1/delivery_pb.ts";
import { DomainService } from "../../gen/postern/v1/domain_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { ExplanationService } from "../../gen/postern/v1/explanation_pb.ts";
import { FactorService } from "../../gen/postern/v1/factor_pb.ts";
import { InvitationService } from "../../gen/postern/v1/invitation_pb.ts";
import { JobService } from "../../gen/postern/v1/job_pb.ts";
import { MachineCredentialService } from "../../gen/postern/v1/machine_credential_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { NameService } from "../../gen/postern/v1/name_pb.ts";
import { OrganizationService } from "../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { RegistrationService } from "../../gen/postern/v1/registration_pb.ts";
import { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { SubscriptionService } from "../../gen/postern/v1/subscription_pb.ts";
import { UserExportService } from "../../gen/postern/v1/user_export_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { UserRoleService } from "../../gen/postern/v1/user_role_pb.ts";
import { UsageError } from "./usage_error.ts";

/** The services of a server, and the types that their messages may contain. */
export type Contract = { readonly services: readonly DescService[]; readonly types: Registry };

const ours: readonly DescService[] = [
  ...[AccountService, ApplicationService, AuthorizationService, ConsentService, DeliveryService],
  ...[DomainService, EventService],
  ...[
    ExplanationService,
    FactorService,
    InvitationService,
    JobService,
    MachineCredentialService,
    MemberService,
    NameService,
    OrganizationService,
    PolicyService,
    ProjectService,
  ],
  ...[
    RegistrationService,
    SessionService,
    SubscriptionService,
    UserExportService,
    UserGrantService,
    UserRoleService,
    UserService,
  ],
];

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

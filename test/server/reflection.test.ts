import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { status as codes } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { ServerReflection } from "../../packages/gateway/gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../packages/gateway/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { openStandard } from "../../packages/gateway/test/services/grpc_client.ts";

type Question = NonNullable<Parameters<typeof ask>[0]>;

let server: Awaited<ReturnType<typeof openStandard>>;
let client: (typeof server)["client"];

beforeAll(async () => {
  server = await openStandard(
    { routes: (router) => router.service(EventService, {}).service(MemberService, {}).service(UserService, {}) },
    { messageMaxBytes: 65_536 },
  );
  client = server.client;
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (
  messageRequest:
    | { case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType" | "listServices"; value: string }
    | { case: "fileContainingExtension"; value: { containingType: string; extensionNumber: number } },
) => client.converse(ServerReflection.method.serverReflectionInfo, [{ host: "here", messageRequest }]);

async function files(question: Question): Promise<FileDescriptorProto[]> {
  const [answer] = await ask(question);
  if (answer?.messageResponse.case !== "fileDescriptorResponse")
    throw new Error(JSON.stringify(answer?.messageResponse));
  return answer.messageResponse.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
}

async function refusal(question: Question) {
  const [answer] = await ask(question);
  return answer?.messageResponse.case === "errorResponse" ? answer.messageResponse.value : undefined;
}

test("every service is listed, by both versions", async () => {
  for (const { method } of [ServerReflection, ServerReflectionAlpha]) {
    const request = { messageRequest: { case: "listServices", value: "*" } as const };
    const [answer] = await client.converse(method.serverReflectionInfo, [request]);
    const response = answer?.messageResponse;
    expect(response?.case === "listServicesResponse" && response.value.service.map(({ name }) => name)).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      "postern.v1.EventService",
      "postern.v1.MemberService",
      "postern.v1.UserService",
    ]);
  }
});

test("a file comes with everything that it imports, enough to build types from", async () => {
  const file = await files({ case: "fileByFilename", value: "postern/v1/user.proto" });
  expect(file[0]?.name).toBe("postern/v1/user.proto");
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: file.toReversed() }));
  const service = registry.getService("postern.v1.UserService");
  expect(service?.method.changePhone?.input.field.phone?.number).toBe(2);
});

const symbols = [
  ["a service", "postern.v1.UserService", "postern/v1/user.proto"],
  ["a method", "postern.v1.UserService.ChangePhone", "postern/v1/user.proto"],
  ["a message", "postern.v1.ChangePhoneRequest", "postern/v1/user.proto"],
  ["a nested message", "postern.v1.ApplicationFact.OidcCreated", "postern/v1/application.proto"],
  ["a field", "postern.v1.ChangePhoneRequest.phone", "postern/v1/user.proto"],
  ["a oneof", "postern.v1.User.kind", "postern/v1/user.proto"],
  ["an enum", "postern.v1.OidcAppType", "postern/v1/application.proto"],
  ["a value of an enum", "postern.v1.OIDC_APP_TYPE_NATIVE", "postern/v1/application.proto"],
  ["an extension", "postern.v1.access", "postern/v1/options.proto"],
  ["a type of the standard library", "google.protobuf.Timestamp", "google/protobuf/timestamp.proto"],
  ["a detail of refusals", "google.rpc.ErrorInfo", "google/rpc/error_details.proto"],
  ["a name with a leading dot", ".postern.v1.UserService", "postern/v1/user.proto"],
] as const;

for (const [what, symbol, name] of symbols) {
  test(`the file that declares ${what} is found`, async () => {
    expect((await files({ case: "fileContainingSymbol", value: symbol }))[0]?.name).toBe(name);
  });
}

test("extensions are found by number, and numbered", async () => {
  const containingType = "google.protobuf.MethodOptions";
  const extension = { containingType, extensionNumber: 50001 };
  expect((await files({ case: "fileContainingExtension", value: extension }))[0]?.name).toBe(
    "postern/v1/options.proto",
  );
  const [answer] = await ask({ case: "allExtensionNumbersOfType", value: containingType });
  const response = answer?.messageResponse;
  if (response?.case !== "allExtensionNumbersResponse") throw new Error(response?.case);
  expect(response.value.baseTypeName).toBe(containingType);
  expect(response.value.extensionNumber.toSorted()).toEqual([50001, 50003, 50006, 72295728]);
});

test("a file that a client has from the same stream is sent again only to who asks for it by name", async () => {
  const question = (value: string) => ({ messageRequest: { case: "fileContainingSymbol" as const, value } });
  const symbols = ["postern.v1.UserService", "postern.v1.ProjectService", "postern.v1.UserService"];
  const answers = await client.converse(ServerReflection.method.serverReflectionInfo, symbols.map(question));
  const names = answers.map(({ messageResponse }) =>
    messageResponse.case === "fileDescriptorResponse"
      ? messageResponse.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name)
      : [],
  );
  expect(names[0]).toContain("google/protobuf/timestamp.proto");
  expect(names.slice(1)).toEqual([["postern/v1/project.proto"], ["postern/v1/user.proto"]]);
});

test("a stream answers a hundred questions, and then says when to begin another", async () => {
  const messageRequest = { case: "listServices" as const, value: "" };
  const questions = Array.from({ length: 101 }, () => ({ messageRequest }));
  const { method } = ServerReflection;
  expect(await client.converse(method.serverReflectionInfo, questions.slice(1))).toHaveLength(100);
  await expect(client.converse(method.serverReflectionInfo, questions)).rejects.toMatchObject({
    code: codes.RESOURCE_EXHAUSTED,
  });
});

test("a stream answers all files twice over, however many there are, and then says when to begin another", async () => {
  const { method } = ServerReflection;
  const asked = (value: string) => ({ messageRequest: { case: "fileContainingSymbol" as const, value } });
  const listed = await client.converse(method.serverReflectionInfo, [
    { messageRequest: { case: "listServices", value: "" } },
  ]);
  const services = listed.flatMap(({ messageResponse: { case: kind, value } }) =>
    kind === "listServicesResponse" ? value.service.map(({ name }) => name) : [],
  );
  const answers = await client.converse(method.serverReflectionInfo, [...services, "google.rpc.ErrorInfo"].map(asked));
  const sizes = new Map<string, number>();
  for (const { messageResponse } of answers)
    if (messageResponse.case === "fileDescriptorResponse")
      for (const bytes of messageResponse.value.fileDescriptorProto)
        sizes.set(fromBinary(FileDescriptorProtoSchema, bytes).name, bytes.length);
  const most = 2 * [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const questions = Array.from({ length: 100 }, () => asked("google.protobuf.FieldDescriptorProto"));
  const enough = Math.floor(most / (sizes.get("google/protobuf/descriptor.proto") ?? 0));
  expect(enough).toBeLessThan(questions.length);
  expect(await client.converse(method.serverReflectionInfo, questions.slice(0, enough))).toHaveLength(enough);
  await expect(client.converse(method.serverReflectionInfo, questions)).rejects.toMatchObject({
    code: codes.RESOURCE_EXHAUSTED,
  });
});

test.each([
  ["a symbol", (value: string) => ({ messageRequest: { case: "fileContainingSymbol" as const, value } })],
  ["a host", (host: string) => ({ host, messageRequest: { case: "listServices" as const, value: "" } })],
])("questions that name %s of 16,000 characters are repeated by 64 KiB of a stream at most", async (_, question) => {
  const stream = client.open(ServerReflection.method.serverReflectionInfo);
  let bytes = 0;
  stream.on("data", (answer) => {
    bytes += toBinary(ServerReflection.method.serverReflectionInfo.output, answer).length;
  });
  const refused = new Promise((resolve) => stream.on("error", resolve));
  const long = create(ServerReflection.method.serverReflectionInfo.input, question("a".repeat(16_000)));
  for (let asked = 0; asked < 100; asked++) stream.write(long);
  expect(await refused).toMatchObject({ code: codes.RESOURCE_EXHAUSTED });
  expect(bytes).toBeGreaterThan(16_000);
  expect(bytes).toBeLessThanOrEqual(65_536);
});

test("a refusal repeats no more than the beginning of a name", async () => {
  const refused = await refusal({ case: "fileContainingSymbol", value: "a".repeat(16_000) });
  expect(refused?.errorMessage.length).toBe(200);
});

test("what is not there is answered as such, and the conversation goes on", async () => {
  expect(await refusal({ case: "fileByFilename", value: "no.proto" })).toMatchObject({ errorCode: codes.NOT_FOUND });
  expect(await refusal({ case: "allExtensionNumbersOfType", value: "no.Message" })).toMatchObject({
    errorCode: codes.NOT_FOUND,
    errorMessage: "message no.Message does not exist",
  });
  const value = { containingType: "google.protobuf.MethodOptions", extensionNumber: 1 };
  expect(await refusal({ case: "fileContainingExtension", value })).toMatchObject({ errorCode: codes.NOT_FOUND });
  const answers = await client.converse(ServerReflection.method.serverReflectionInfo, [
    { host: "one", messageRequest: { case: "fileContainingSymbol", value: "postern.v1.Nothing" } },
    { host: "two" },
    { host: "three", messageRequest: { case: "listServices", value: "" } },
  ]);
  expect(answers.map(({ validHost, messageResponse }) => `${validHost} ${messageResponse.case}`)).toEqual([
    "one errorResponse",
    "two errorResponse",
    "three listServicesResponse",
  ]);
  expect(answers[0]?.originalRequest?.messageRequest.value).toBe("postern.v1.Nothing");
  expect(answers[1]?.messageResponse.value).toMatchObject({ errorCode: codes.INVALID_ARGUMENT });
});

import { create, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { type Fixture, fixtureOf } from "../guards/matrix_fixture.ts";
import { type Postern, signedUp, startPostern } from "../harness.ts";

let postern: Postern;
let fixture: Fixture;
beforeAll(async () => {
  postern = await startPostern();
  fixture = await fixtureOf(postern, postern.organizationId);
});
afterAll(() => postern?.[Symbol.asyncDispose]());

type Fields = Record<string, unknown>;
type Sent = {
  readonly token: string | undefined;
  readonly timeoutMs?: number;
  readonly headers?: Record<string, string>;
};
/** Answers the message, or `code REASON`. */
type Call = (method: DescMethod, request: Fields, sent: Sent) => Promise<Fields | string>;

/** The public client of gRPC for Node, with the codec of our contract. */
const grpcJs: Call = (method, request, { token, timeoutMs = 10_000, headers = {} }) => {
  const client = new Client(new URL(postern.url).host, credentials.createInsecure());
  const metadata = new Metadata();
  if (token) metadata.set("authorization", `Bearer ${token}`);
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const path = `/${method.parent.typeName}/${method.name}`;
  const write = (message: Fields) => Buffer.from(toBinary(method.input, create(method.input, message)));
  const read = (bytes: Buffer) => fromBinary(method.output, bytes) as unknown as Fields;
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      write,
      read,
      request,
      metadata,
      { deadline: Date.now() + timeoutMs },
      (error, answer) => {
        client.close();
        resolve(error ? saidIn(error) : (answer ?? {}));
      },
    );
  });
};

function saidIn({ code, metadata }: ServiceError): string {
  const [details] = metadata.get("grpc-status-details-bin");
  const all = details ? fromBinary(StatusSchema, details as Buffer).details : [];
  const info = all.find(({ typeUrl }) => typeUrl.endsWith("ErrorInfo"));
  return `${Code[code]} ${info ? fromBinary(ErrorInfoSchema, info.value).reason : ""}`;
}

const viaConnect =
  (open: (baseUrl: string, interceptors: Interceptor[]) => Transport): Call =>
  async (method, request, { token, timeoutMs = 10_000, headers = {} }) => {
    const client = createClient(method.parent, open(postern.url, []));
    const call = client[method.localName] as unknown as (request: Fields, options: object) => Promise<Fields>;
    const all = { ...headers, ...(token && { authorization: `Bearer ${token}` }) };
    return call(request, { timeoutMs, headers: all }).catch((error: unknown) => {
      if (!(error instanceof ConnectError)) throw error;
      return `${Code[error.code]} ${error.findDetails(ErrorInfoSchema)[0]?.reason ?? ""}`;
    });
  };

const clients: Readonly<Record<string, Call>> = {
  "grpc-js": grpcJs,
  "connect-node gRPC": viaConnect((baseUrl) => createGrpcTransport({ baseUrl })),
  "connect-node gRPC-Web": viaConnect((baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
  "connect-node Connect": viaConnect((baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })),
};

describe.each(Object.entries(clients))("%s", (_, call) => {
  const admin = () => ({ token: postern.admin.token });

  test("changes a password, and is told of a wrong one", async () => {
    const { client, password } = await signedUp(postern);
    const request = { oldPassword: password, newPassword: "Green-Teapot-77" };
    const sent = { token: client.token };
    expect(await call(AccountService.method.changePassword, request, sent)).toMatchObject({
      details: { sequence: 2n },
    });
    expect(await call(AccountService.method.changePassword, request, sent)).toBe("InvalidArgument PASSWORD_MISMATCH");
  });

  test("creates an application, and is told of a missing project", async () => {
    const { createOidcApplication } = ApplicationService.method;
    const request = { projectId: await fixture.newProject(), name: "Zoë 🦊" };
    expect(await call(createOidcApplication, request, admin())).toMatchObject({
      clientSecret: expect.stringMatching(/^cs_/),
      noneCompliant: true,
    });
    expect(await call(createOidcApplication, { ...request, projectId: "none" }, admin())).toBe(
      "NotFound PROJECT_NOT_FOUND",
    );
  });

  test("changes a phone, and is told of modes that exclude each other", async () => {
    const { changePhone } = UserService.method;
    const request = { userId: await fixture.newUser(), phone: "+41446681800", returnCode: {} };
    expect(await call(changePhone, request, admin())).toMatchObject({
      verificationCode: expect.stringMatching(/^\w{6}$/),
    });
    const both = { ...request, sendCode: {} };
    expect(await call(changePhone, both, admin())).toBe("InvalidArgument VALIDATION_FAILED");
  });

  test("adds a grant, and is told of one that is there already", async () => {
    const { addUserGrant } = UserGrantService.method;
    const request = { userId: await fixture.newUser(), projectId: fixture.projectId, roleKeys: ["viewer"] };
    expect(await call(addUserGrant, request, admin())).toMatchObject({ details: { sequence: 1n } });
    expect(await call(addUserGrant, request, admin())).toBe("AlreadyExists USER_GRANT_EXISTS");
  });

  test("metadata names the organization, and a token is asked for", async () => {
    const { getMe } = AccountService.method;
    expect(await call(getMe, {}, { token: undefined })).toBe("Unauthenticated UNAUTHENTICATED");
    const { addUserGrant } = UserGrantService.method;
    const request = { userId: await fixture.newUser(), projectId: fixture.projectId };
    const elsewhere = { ...admin(), headers: { "x-service-orgid": "no-such-organization" } };
    expect(await call(addUserGrant, request, elsewhere)).toBe("PermissionDenied PERMISSION_DENIED");
  });

  test("a deadline that is over ends the call", async () => {
    const { createOidcApplication } = ApplicationService.method;
    const request = { projectId: fixture.projectId, name: "late" };
    const said = await call(createOidcApplication, request, { ...admin(), timeoutMs: 1 });
    expect(said).toMatch(/^DeadlineExceeded /);
  });
});

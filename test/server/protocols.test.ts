import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { type Postern, sharedPostern } from "../harness.ts";
import { frame } from "../wire/frame.ts";
import { requestHttp2 } from "../wire/http2.ts";
import { readError, readProblem, refusalOf } from "../wire/refusal.ts";
import { transports } from "../wire/transports.ts";

let postern: Postern;
beforeAll(async () => {
  postern = await sharedPostern();
});
afterAll(() => postern[Symbol.asyncDispose]());

describe.each(transports)("$name", ({ open }) => {
  const client = () => open(postern.url, postern.admin.token);

  test("a call is answered, with a request id", async () => {
    let id: string | null = null;
    const onHeader = (headers: Headers) => {
      id = headers.get("x-request-id");
    };
    const { user } = await createClient(AccountService, client()).getMe({}, { onHeader });
    expect([user?.id, id]).toEqual([postern.adminId, expect.stringMatching(/^[0-9a-z]{24}$/)]);
  });

  test("a missing object is refused as over REST, in the language asked for", async () => {
    const headers = { "accept-language": "fr" };
    const error = await refusalOf(createClient(UserService, client()).getUser({ userId: "nobody" }, { headers }));
    expect(readError(error)).toEqual(readProblem((await postern.admin.get("/v1/users/nobody", headers)).body));
    expect(readError(error)).toMatchObject({ reason: "USER_NOT_FOUND", localized: expect.stringMatching(/./) });
    expect(error.metadata.get("x-request-id")).toMatch(/^[0-9a-z]{24}$/);
  });

  test("every wrong field is named as over REST", async () => {
    const request = { username: "", givenName: "", familyName: "", email: "" };
    const error = await refusalOf(createClient(UserService, client()).createHumanUser(request));
    expect(readError(error)).toEqual(readProblem((await postern.admin.post("/v1/users/human", request)).body));
    expect(readError(error).violations?.length).toBeGreaterThan(2);
  });

  test("without a token it is UNAUTHENTICATED", async () => {
    const error = await refusalOf(createClient(AccountService, open(postern.url)).getMe({}));
    expect(readError(error)).toMatchObject({ code: "Unauthenticated", reason: "UNAUTHENTICATED" });
  });

  test("a write is read by the next call", async () => {
    const projects = createClient(ProjectService, client());
    const name = `Project ${Math.random()}`;
    const { projectId, details } = await projects.createProject({ name });
    expect(details?.sequence).toBe(1n);
    expect((await projects.getProject({ projectId })).project?.name).toBe(name);
  });

  test("a message that is too large is refused", async () => {
    const name = "a".repeat(postern.config.messageMaxBytes);
    const error = await refusalOf(createClient(ProjectService, client()).createProject({ name }));
    expect(readError(error)).toMatchObject({ code: "ResourceExhausted", reason: "BODY_TOO_LARGE" });
  });
});

const getMe = "/postern.v1.AccountService/GetMe";
const getUser = "/postern.v1.UserService/GetUser";
const nothing = frame("");
const grpc = { "content-type": "application/grpc" };
const connect = { "content-type": "application/json", "connect-protocol-version": "1" };

test.each([
  ["an unknown path", "/postern.v1.Nowhere/Go", grpc, nothing, 12, "UNIMPLEMENTED"],
  ["an unknown format", getMe, { "content-type": "application/grpc+thrift" }, nothing, 12, "UNSUPPORTED_CONTENT_TYPE"],
  ["an unknown encoding", getMe, { ...grpc, "grpc-encoding": "lzma" }, nothing, 12, "UNSUPPORTED_ENCODING"],
  ["malformed bytes", getUser, grpc, frame(Buffer.of(0xff)), 3, "MALFORMED_BODY"],
  ["invalid UTF-8", getUser, grpc, frame(Buffer.of(0x0a, 1, 0xff)), 3, "MALFORMED_BODY"],
  ["no message", getMe, grpc, "", 12, "MESSAGE_COUNT"],
  ["two messages", getMe, grpc, Buffer.concat([nothing, nothing]), 12, "MESSAGE_COUNT"],
  ["half a message", getMe, grpc, frame("abc").subarray(0, 6), 3, "MALFORMED_BODY"],
  ["a message compressed by nothing", getMe, grpc, frame("abc", 1), 13, "ENCODING_MISSING"],
  ["a malformed time-out", getMe, { ...grpc, "grpc-timeout": "soon" }, nothing, 3, "MALFORMED_REQUEST"],
  [
    "an unknown JSON field",
    getUser,
    { "content-type": "application/grpc+json" },
    frame('{"x":1}'),
    3,
    "VALIDATION_FAILED",
  ],
])("gRPC: %s is refused with details", async (_, path, headers, body, code, reason) => {
  const authorization = `Bearer ${postern.admin.token}`;
  const answer = await requestHttp2(postern.url, { ":path": path, authorization, ...headers }, body);
  expect([answer.status, answer.headers["grpc-status"]]).toEqual([200, String(code)]);
  expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-z]{24}$/);
  const details = Buffer.from(answer.headers["grpc-status-details-bin"] ?? "", "base64").toString("latin1");
  expect(details).toContain(reason);
});

test.each([
  ["an unknown path", "/postern.v1.Nowhere/Go", connect, "{}", 404, "unimplemented", "UNKNOWN_PATH"],
  [
    "an unknown type",
    getMe,
    { ...connect, "content-type": "text/plain" },
    "{}",
    415,
    "unknown",
    "UNSUPPORTED_CONTENT_TYPE",
  ],
  [
    "an unknown encoding",
    getMe,
    { ...connect, "content-encoding": "lzma" },
    "{}",
    501,
    "unimplemented",
    "UNSUPPORTED_ENCODING",
  ],
  ["malformed JSON", getUser, connect, "{", 400, "invalid_argument", "MALFORMED_BODY"],
  [
    "malformed bytes",
    getUser,
    { "content-type": "application/proto" },
    Buffer.of(0xff),
    400,
    "invalid_argument",
    "MALFORMED_BODY",
  ],
  ["an unknown field", getUser, connect, '{"userID":"1"}', 400, "invalid_argument", "VALIDATION_FAILED"],
] as const)("Connect: %s is refused with details", async (_, path, headers, body, status, code, reason) => {
  const authorization = `Bearer ${postern.admin.token}`;
  const answer = await requestHttp2(postern.url, { ":path": path, authorization, ...headers }, body);
  const error = JSON.parse(answer.body.toString());
  expect([answer.status, error.code, error.details[0].debug?.reason]).toEqual([status, code, reason]);
  expect(error.details[0].type).toBe("google.rpc.ErrorInfo");
});

test("Connect reads by GET, and only reads", async () => {
  const authorization = `Bearer ${postern.admin.token}`;
  const get = (path: string, query: string) =>
    fetch(`${postern.url}${path}?${query}`, { headers: { authorization } }).then(async (answer) => ({
      status: answer.status,
      allow: answer.headers.get("allow"),
      body: Object(await answer.json()),
    }));
  const message = encodeURIComponent(JSON.stringify({ userId: postern.adminId }));
  expect((await get(getUser, `connect=v1&encoding=json&message=${message}`)).body.user.id).toBe(postern.adminId);
  const base64 = Buffer.from(JSON.stringify({ userId: postern.adminId })).toString("base64url");
  expect((await get(getUser, `encoding=json&base64=1&message=${base64}`)).status).toBe(200);
  expect(await get("/postern.v1.UserService/DeleteUser", "encoding=json&message=%7B%7D")).toMatchObject({
    ...{ status: 405, allow: "POST", body: { code: "unknown" } },
  });
  expect(await get(getUser, "connect=v1&encoding=xml&message=")).toMatchObject({ status: 415 });
  expect(await get(getUser, "connect=v2&encoding=json&message=%7B%7D")).toMatchObject({ status: 400 });
});

test("gRPC over HTTP/1.1 is 505", async () => {
  const answer = await fetch(postern.url + getMe, { method: "POST", headers: grpc, body: nothing });
  expect([answer.status, Object(await answer.json()).details[0].reason]).toEqual([505, "HTTP_VERSION_TOO_OLD"]);
});

test("gRPC-Web as text is answered as text", async () => {
  const headers = { "content-type": "application/grpc-web-text", authorization: `Bearer ${postern.admin.token}` };
  const answer = await fetch(postern.url + getMe, { method: "POST", headers, body: nothing.toString("base64") });
  expect(answer.headers.get("content-type")).toMatch(/^application\/grpc-web-text/);
  const bytes = Buffer.from(await answer.text(), "base64");
  expect(bytes.toString("latin1")).toContain(postern.adminId);
  expect(bytes.toString("latin1")).toMatch(/grpc-status: ?0\r\n/);
});

test.each(["[", "a b", "a:b", ""])("the authority %j ends nothing, whatever the protocol", async (authority) => {
  for (const type of ["application/grpc", "application/proto", "application/connect+json", "application/json"])
    await requestHttp2(postern.url, { ":path": getMe, ":authority": authority, "content-type": type }, "{}").catch(
      () => {},
    );
  expect((await fetch(`${postern.url}/healthz`)).status).toBe(200);
});

test("REST and plain JSON answer over HTTP/2 as well", async () => {
  const authorization = `Bearer ${postern.admin.token}`;
  const rest = await requestHttp2(postern.url, { ":path": "/v1/users/me", authorization });
  expect([rest.status, JSON.parse(rest.body.toString()).user.id]).toEqual([200, postern.adminId]);
  const type = { "content-type": "application/json" };
  const plain = await requestHttp2(postern.url, { ":path": getMe, authorization, ...type }, "{}");
  expect([plain.status, JSON.parse(plain.body.toString()).user.id]).toEqual([200, postern.adminId]);
  const problem = await requestHttp2(postern.url, { ":path": "/nowhere" });
  expect([problem.status, JSON.parse(problem.body.toString()).code]).toEqual([404, 5]);
});

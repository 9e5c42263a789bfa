import { expect, test } from "vitest";
import { AccountService } from "../../gen/postern/v1/account_pb.ts";
import { ApplicationService } from "../../gen/postern/v1/application_pb.ts";
import { EventService } from "../../gen/postern/v1/event_pb.ts";
import { MemberService } from "../../gen/postern/v1/member_pb.ts";
import { OrganizationService } from "../../gen/postern/v1/organization_pb.ts";
import { PolicyService } from "../../gen/postern/v1/policy_pb.ts";
import { ProjectService } from "../../gen/postern/v1/project_pb.ts";
import { SessionService } from "../../gen/postern/v1/session_pb.ts";
import { UserGrantService } from "../../gen/postern/v1/user_grant_pb.ts";
import { UserService } from "../../gen/postern/v1/user_pb.ts";
import { compileRest } from "../../packages/gateway/src/rest/compile.ts";
import { type Guard, operationTable } from "../../packages/gateway/src/rpc/operations.ts";
import { messageRules } from "../../src/guards/validate.ts";
import { type SampleRpc, sampleService } from "./sample.ts";
import { sampleDoor, sampleImplementation } from "./sample_door.ts";

const open: Guard = { unary: (_method, handler) => handler, stream: (_method, handler) => handler };
const echo = async (request: object) => request;
const get = (path: string) => ({ pattern: { case: "get", value: path } }) as const;

const table = (rpcs: readonly SampleRpc[]) => operationTable([sampleImplementation(sampleService(rpcs), echo)], open);

test("an rpc without an access option stops the start", () => {
  const rpc = { name: "Open", rule: get("/a"), open: false };
  expect(() => table([rpc])).toThrow("sample.Samples.Open has no access option: say in its proto who may call it");
});

test("an rpc without a REST path stops the start", () => {
  expect(() => table([{ name: "Hidden" }])).toThrow("sample.Samples.Hidden has no REST path");
});

test("an rpc without a handler stops the start", () => {
  const service = sampleService([{ name: "Empty", rule: get("/a") }]);
  expect(() => operationTable([{ service, handlers: {} }], open)).toThrow("sample.Samples.Empty has no handler");
});

const wrong: readonly [problem: string, rules: readonly SampleRpc["rule"][], message: string][] = [
  ["a malformed path", [get("/a/{")], "GET /a/{ of sample.Samples/R0: syntax error at column 5"],
  ["a variable that is no field", [get("/{nope}")], "the variable nope is not a field of sample.Sample"],
  ["a variable that is a message", [get("/{inner}")], "the variable inner is not a single value"],
  ["a variable that is a list", [get("/{tags}")], "the variable tags is not a single value"],
  ["a variable inside a scalar", [get("/{name.x}")], "the variable name.x is not a field of sample.Sample"],
  ["a body that is no field", [{ ...get("/a"), body: "nope" }], "the body nope is not a field of sample.Sample"],
  ["a body that is in the path", [{ ...get("/{inner.id}"), body: "inner" }], "the body inner is also in the path"],
  ["a response_body that is no field", [{ ...get("/a"), responseBody: "x" }], "the response_body x is not a field"],
  ["a rule without a path", [{ body: "*" }], "a rule of sample.Samples/R0 has no path"],
  [
    "a path that is taken",
    [get("/a/{name}"), get("/a/{left}")],
    "GET /a/{left} of sample.Samples/R1: the path is taken by sample.Samples/R0",
  ],
  [
    "a path taken by an additional binding",
    [{ ...get("/a"), additionalBindings: [get("/b")] }, get("/b")],
    "GET /b of sample.Samples/R1: the path is taken by sample.Samples/R0",
  ],
];

for (const [problem, rules, message] of wrong) {
  test(`${problem} stops the start and names the rpc`, () => {
    const rpcs = rules.map((rule, index) => ({ name: `R${index}`, ...(rule && { rule }) }));
    expect(() => sampleDoor(rpcs)).toThrow(message);
  });
}

test("a handler's fields are completed to a whole message", async () => {
  const operations = operationTable(
    [sampleImplementation(sampleService([{ name: "Part", rule: get("/a") }]), async () => ({ name: "x", inner: {} }))],
    open,
  );
  const operation = operations.get("/sample.Samples/Part");
  if (operation?.kind !== "unary") throw new Error("no operation");
  const answer = await operation.unary({ $typeName: "sample.Sample" }, calledBy());
  expect(answer).toMatchObject({ name: "x", tags: [], inner: { $typeName: "sample.Inner", id: "" } });
});

function calledBy() {
  const values = { get: <T>(key: { defaultValue: T }) => key.defaultValue, set: () => values, delete: () => values };
  return { values, signal: new AbortController().signal, requestHeader: new Headers() };
}

test("the whole contract compiles: every rpc has its place and no two of them share one", () => {
  const services = [
    ...[AccountService, ApplicationService, EventService, MemberService, OrganizationService],
    ...[PolicyService, ProjectService, SessionService, UserGrantService, UserService],
  ];
  const operations = operationTable(
    services.map((service) => sampleImplementation(service, echo)),
    open,
  );
  const rules = messageRules();
  for (const { method } of operations.values()) rules(method.input);
  const router = compileRest(operations);
  const found = router.match("POST", "/v1/projects/p/applications/a:rotateClientSecret");
  expect(found.kind === "found" && found.route.target.operation.path).toBe(
    "/postern.v1.ApplicationService/RotateClientSecret",
  );
  expect(operations.size).toBe(services.flatMap(({ methods }) => methods).length);
});

import { expect, test } from "vitest";
import { gateway } from "../../src/gateway.ts";
import { openSample, sampleRoutes } from "../sample_gateway.ts";
import { type SampleRpc, sampleService } from "../sample_service.ts";
import { callRest, reasonOf } from "./rest_call.ts";

const get = (path: string) => ({ pattern: { case: "get", value: path } }) as const;

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
    expect(() => gateway({ routes: sampleRoutes(sampleService(rpcs)) })).toThrow(message);
  });
}

test("the fields that an implementation answers are completed to a whole message", async () => {
  const rpcs = [{ name: "Part", rule: get("/a") }];
  await using server = await openSample({}, { rpcs, handler: async () => ({ name: "x", inner: {} }) });
  const { json } = await callRest(server, "GET /a");
  expect(json).toMatchObject({ name: "x", tags: [], inner: { id: "", bigOne: "0" } });
});

test("an rpc without an implementation is UNIMPLEMENTED", async () => {
  const service = sampleService([{ name: "Empty", rule: get("/a") }]);
  await using server = await openSample({}, { routes: (router) => void router.service(service, {}) });
  const response = await callRest(server, "GET /a");
  expect([response.status, response.json.code]).toEqual([501, 12]);
});

test("without REST an rpc has its own path alone", async () => {
  await using server = await openSample({}, { rest: false });
  expect(reasonOf(await callRest(server, "GET /one/ada"))).toBe("UNKNOWN_PATH");
  expect((await callRest(server, "POST /sample.Samples/Do", { name: "ada" })).json).toMatchObject({ name: "ada" });
});

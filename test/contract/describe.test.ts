import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { gateway } from "../../packages/gateway/src/gateway.ts";
import { compileRest } from "../../packages/gateway/src/rest/compile.ts";
import { sampleRoutes } from "../../packages/gateway/test/sample_gateway.ts";
import { describe, describeAll } from "../../src/contract/describe.ts";
import { contractBounds } from "../../src/contract/field_bounds.ts";
import { messageRules } from "../../src/guards/validate.ts";
import { services } from "../../src/runtime/modules.ts";
import { methods } from "../guards/methods.ts";
import { contractOf, rpcOf } from "./sample.ts";

const rule = { pattern: { case: "get", value: "/a" } } as const;

test("an rpc without an access option stops the start", () => {
  expect(() => describeAll([contractOf({ rule, who: null })])).toThrow(
    "sample.Samples.Do has no access option: say in its proto who may call it",
  );
});

test("an rpc without a REST path stops the start", () => {
  expect(() => describe(rpcOf({}))).toThrow("sample.Samples.Do has no REST path");
});

test("an rpc that changes something is keyed, unless anyone may call it", () => {
  expect(describe(rpcOf({ rule }))).toMatchObject({ isKeyed: true, isOpen: false, path: "/sample.Samples/Do" });
});

test("the services that are served are all of the contract", () => {
  expect(describeAll(services).map(({ method }) => method)).toEqual(expect.arrayContaining([...methods]));
  expect(describeAll(services)).toHaveLength(methods.length);
});

test("the whole contract compiles: every rpc has its place and no two of them share one", () => {
  const served = gateway({
    routes: (router) => {
      for (const service of services) sampleRoutes(service)(router);
    },
    bounds: contractBounds,
  });
  const rules = messageRules();
  for (const { method } of served.methods) rules(method.input)(create(method.input));
  const found = compileRest(served.methods).match("POST", "/v1/projects/p/applications/a:rotateClientSecret");
  expect(found.kind === "found" && found.route.target.rpc.path).toBe(
    "/postern.v1.ApplicationService/RotateClientSecret",
  );
  expect(served.methods).toHaveLength(methods.length);
});

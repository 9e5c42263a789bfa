import { expect, test } from "vitest";
import { HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { maskPaths } from "../../src/rest/update_mask.ts";

test("a mask names the values of a body, also those in messages; lists and empty messages are values", () => {
  const body = { get: "/x", custom: { kind: "", path: null }, additional_bindings: [{ get: "/y" }] };
  expect(maskPaths(HttpRuleSchema, body)).toEqual(["get", "custom.kind", "custom.path", "additional_bindings"]);
  expect(maskPaths(HttpRuleSchema, { responseBody: "x", custom: {} })).toEqual(["response_body", "custom"]);
  expect(maskPaths(HttpRuleSchema, { custom: null, nope: 1 })).toEqual(["custom"]);
});

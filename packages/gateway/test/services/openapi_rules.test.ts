import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FieldRulesSchema } from "../../gen/buf/validate/validate_pb.ts";
import { isNeeded, keywords } from "../../src/services/openapi/rules.ts";

const rules = (init: Parameters<typeof create<typeof FieldRulesSchema>>[1]) => create(FieldRulesSchema, init);

test("bounds of numbers are in the document, whether they are allowed themselves or not", () => {
  const closed = {
    greaterThan: { case: "gte", value: 1 },
    lessThan: { case: "lte", value: 9 },
  } as const;
  expect(keywords(rules({ type: { case: "int32", value: closed } }))).toEqual({ minimum: 1, maximum: 9 });
  const open = { greaterThan: { case: "gt", value: 0 }, lessThan: { case: "lt", value: 1.5 } } as const;
  const fraction = rules({ type: { case: "double", value: open } });
  expect(keywords(fraction)).toEqual({ exclusiveMinimum: 0, exclusiveMaximum: 1.5 });
  expect(isNeeded(fraction)).toBe(true);
});

test("a range that excludes the values between its bounds is left to the server", () => {
  const outside = { greaterThan: { case: "gte", value: 9 }, lessThan: { case: "lte", value: 1 } } as const;
  expect(keywords(rules({ type: { case: "sint32", value: outside } }))).toEqual({});
});

test("a text that must be of a kind has its format", () => {
  const wellKnown = { case: "uuid", value: true } as const;
  expect(keywords(rules({ type: { case: "string", value: { wellKnown } } }))).toEqual({ format: "uuid" });
  const not = { case: "uuid", value: false } as const;
  expect(keywords(rules({ type: { case: "string", value: { wellKnown: not } } }))).toEqual({});
});

import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { decoderOf } from "../../src/codec/decoder.ts";
import { GatewayError } from "../../src/errors/gateway_error.ts";

const { fromJson, fromBinary } = decoderOf(BadRequestSchema, {});
const whole = toBinary(
  BadRequestSchema,
  create(BadRequestSchema, { fieldViolations: [{ field: "name", description: "is required" }] }),
);

function problemOf(decode: () => unknown): unknown {
  try {
    decode();
    return undefined;
  } catch (error) {
    return error instanceof GatewayError ? error.details.params : error;
  }
}

test.each([
  ['{"name":"a",}', { problem: "BODY_NOT_JSON", found: '"}"', line: "1", column: "13" }],
  ['{\n"a":1', { problem: "BODY_INCOMPLETE", line: "2", column: "6" }],
  ["[]", { problem: "BODY_NOT_OBJECT" }],
  ["null", { problem: "BODY_NOT_OBJECT" }],
  ['{"a":"\u00ff"}', { problem: "BODY_NOT_UTF8", byte: "6" }],
  [`{"fieldViolations":${"[".repeat(200)}${"]".repeat(200)}}`, { problem: "BODY_TOO_DEEP", max: "100" }],
])("the JSON %j says why it cannot be read", (text, problem) => {
  expect(problemOf(() => fromJson(Buffer.from(text, "latin1")))).toEqual(problem);
});

test("bytes of Protobuf say where and in which field they cannot be read", () => {
  const cut = whole.subarray(0, whole.length - 3);
  const field = Buffer.from(whole);
  field[5] = 0xff;
  expect(problemOf(() => fromBinary(Buffer.of(0xff)))).toEqual({ problem: "BODY_NOT_PROTOBUF", byte: "0" });
  expect(problemOf(() => fromBinary(cut))).toEqual({
    problem: "FIELD_NOT_PROTOBUF",
    byte: "8",
    field: "fieldViolations.description",
  });
  expect(problemOf(() => fromBinary(field))).toEqual({
    problem: "FIELD_NOT_PROTOBUF",
    byte: "2",
    field: "fieldViolations.field",
  });
});

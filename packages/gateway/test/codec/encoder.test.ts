import { create, type DescFile, type DescMessage, toBinary } from "@bufbuild/protobuf";
import {
  AnySchema,
  file_google_protobuf_any,
  file_google_protobuf_descriptor,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  TimestampSchema,
} from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { file_buf_validate_validate } from "../../gen/buf/validate/validate_pb.ts";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { file_grpc_reflection_v1_reflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { encoderOf } from "../../src/codec/proto/encoder.ts";
import { messageWriter } from "../../src/codec/proto/message_writer.ts";
import { everyField } from "./every_field.ts";
import { testSameBytes } from "./same_bytes.ts";

const files: readonly DescFile[] = [
  ...[file_google_protobuf_any, file_google_protobuf_descriptor, file_google_protobuf_struct],
  ...[file_google_protobuf_timestamp, file_google_protobuf_wrappers, file_google_rpc_error_details],
  ...[file_buf_validate_validate, file_grpc_reflection_v1_reflection],
];

const withNested = (type: DescMessage): readonly DescMessage[] => [type, ...type.nestedMessages.flatMap(withNested)];

testSameBytes(everyField(), 200);
testSameBytes(
  files.flatMap(({ messages }) => messages.flatMap(withNested)),
  10,
);

test("only fields of rare kinds are left to toBinary", () => {
  const [usual, ...rare] = everyField();
  expect(usual && messageWriter(usual)).toBeDefined();
  expect(rare.map(messageWriter).filter(Boolean)).toEqual([]);
});

test("an encoded message keeps its bytes when others are encoded", () => {
  const encoder = encoderOf(AnySchema);
  const small = encoder.encode(create(AnySchema, { typeUrl: "small" }));
  const before = Buffer.from(small).toString("hex");
  encoder.encode(create(AnySchema, { typeUrl: "x".repeat(100_000) }));
  encoder.encode(create(AnySchema, { typeUrl: "other" }));
  expect(Buffer.from(small).toString("hex")).toBe(before);
});

test("a message may be encoded while another one of its type is", () => {
  const encoder = encoderOf(TimestampSchema);
  const inner = create(TimestampSchema, { seconds: 7n, nanos: 8 });
  const outer = create(TimestampSchema, { seconds: 1n });
  let bytes: Uint8Array | undefined;
  Object.defineProperty(outer, "nanos", {
    get() {
      bytes = encoder.encode(inner);
      return 5;
    },
  });
  expect(encoder.encode(outer)).toEqual(toBinary(TimestampSchema, create(TimestampSchema, { seconds: 1n, nanos: 5 })));
  expect(bytes).toEqual(toBinary(TimestampSchema, inner));
});

test("a message that cannot be encoded does not change the next one", () => {
  const encoder = encoderOf(TimestampSchema);
  const wrong = create(TimestampSchema, { seconds: 1n, nanos: 2 ** 40 });
  const right = create(TimestampSchema, { seconds: 2n, nanos: 3 });
  expect(() => encoder.encode(wrong)).toThrow("cannot encode field google.protobuf.Timestamp.nanos");
  expect(encoder.encode(right)).toEqual(toBinary(TimestampSchema, right));
});

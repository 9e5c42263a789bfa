import { create, createFileRegistry, type DescService, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import {
  type FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  MethodOptions_IdempotencyLevel as Level,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { http } from "../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../gen/google/api/http_pb.ts";
import { AccessSchema, access, message_bytes } from "../gen/postern/v1/options_pb.ts";

/** Where gRPC, gRPC-Web and Connect find the tiny method. */
export const tinyRpc = "/bench.Tiny/Greet";

/** Where REST finds it. */
export const tinyPath = "/v1/greetings";

/** What every server of the benchmark answers. */
export const greeting = ({ name, count }: { readonly name: string; readonly count: number }) => ({
  text: `Hello ${name}`,
  count: count + 1,
  again: true,
});

/** What every caller asks. */
export const asked = { name: "postern", count: 41 };

/** A service with one unary method that touches no database; only the benchmark mounts it. */
export function tinyService(): DescService {
  const options = create(MethodOptionsSchema, { idempotencyLevel: Level.NO_SIDE_EFFECTS });
  const pattern = { case: "post", value: tinyPath } as const;
  setExtension(options, http, create(HttpRuleSchema, { pattern, body: "*" }));
  setExtension(options, access, create(AccessSchema, { who: { case: "anyone", value: true } }));
  setExtension(options, message_bytes, 16_384);
  const file = create(FileDescriptorProtoSchema, {
    ...{ name: "bench.proto", package: "bench", syntax: "proto3" },
    messageType: [
      { name: "Asked", field: [field(1, "name", Type.STRING), field(2, "count", Type.INT32)] },
      {
        name: "Greeting",
        field: [field(1, "text", Type.STRING), field(2, "count", Type.INT32), field(3, "again", Type.BOOL)],
      },
    ],
    service: [
      { name: "Tiny", method: [{ name: "Greet", inputType: ".bench.Asked", outputType: ".bench.Greeting", options }] },
    ],
  });
  const service = createFileRegistry(file, () => undefined).getService("bench.Tiny");
  if (!service) throw new Error("the benchmark has no service");
  return service;
}

function field(number: number, name: string, type: Type): MessageInitShape<typeof FieldDescriptorProtoSchema> {
  return { number, name, jsonName: name, type, label: 1 };
}

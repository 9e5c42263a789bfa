import { create, createFileRegistry, type DescService, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import {
  type FieldDescriptorProtoSchema,
  FileDescriptorProtoSchema,
  MethodOptions_IdempotencyLevel as Level,
  type MethodOptions,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { http } from "../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../gen/google/api/http_pb.ts";

/** The path of the tiny method in gRPC, gRPC-Web and Connect. */
export const tinyRpc = "/bench.Tiny/Greet";

/** The path of its stream. */
export const countRpc = "/bench.Tiny/Count";

/** Its REST path. */
export const tinyPath = "/v1/greetings";

/** The response of every server of the benchmark. */
export const greeting = ({ name, count }: { readonly name: string; readonly count: number }) => ({
  text: `Hello ${name}`,
  count: count + 1,
  again: true,
});

/** The number of messages of its stream. */
export const countTo = 1000;

/** The messages that every server of the benchmark streams. */
export function* counted({ name }: { readonly name: string }) {
  const text = `Hello ${name}`;
  for (let count = 1; count <= countTo; count++) yield { text, count, again: true };
}

/** The request of every caller. */
export const greetRequest = { name: "postern", count: 41 };

/** Options of a method besides its path. */
export type Extend = (options: MethodOptions) => void;

/** A service with a unary method and a stream that touch no database; only the benchmark mounts it. */
export function tinyService(extend: Extend = () => {}): DescService {
  const types = { inputType: ".bench.GreetRequest", outputType: ".bench.Greeting" };
  const file = create(FileDescriptorProtoSchema, {
    ...{ name: "bench.proto", package: "bench", syntax: "proto3" },
    messageType: [
      { name: "GreetRequest", field: [field(1, "name", Type.STRING), field(2, "count", Type.INT32)] },
      {
        name: "Greeting",
        field: [field(1, "text", Type.STRING), field(2, "count", Type.INT32), field(3, "again", Type.BOOL)],
      },
    ],
    service: [
      {
        name: "Tiny",
        method: [
          { name: "Greet", ...types, options: optionsOf(tinyPath, extend) },
          { name: "Count", ...types, options: optionsOf("/v1/counts", extend), serverStreaming: true },
        ],
      },
    ],
  });
  const service = createFileRegistry(file, () => undefined).getService("bench.Tiny");
  if (!service) throw new Error("the benchmark has no service");
  return service;
}

function optionsOf(path: string, extend: Extend) {
  const options = create(MethodOptionsSchema, { idempotencyLevel: Level.NO_SIDE_EFFECTS });
  setExtension(options, http, create(HttpRuleSchema, { pattern: { case: "post", value: path }, body: "*" }));
  extend(options);
  return options;
}

function field(number: number, name: string, type: Type): MessageInitShape<typeof FieldDescriptorProtoSchema> {
  return { number, name, jsonName: name, type, label: 1 };
}

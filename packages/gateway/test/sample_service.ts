import {
  clone,
  create,
  createFileRegistry,
  type DescMessage,
  type DescService,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf";
import {
  type FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_duration,
  file_google_protobuf_field_mask,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  FieldDescriptorProto_Label as Label,
  type MethodOptions,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import {
  type FieldRulesSchema,
  field as fieldRules,
  FieldRulesSchema as RulesMessage,
} from "../gen/buf/validate/validate_pb.ts";
import { http } from "../gen/google/api/annotations_pb.ts";
import type { HttpRuleSchema } from "../gen/google/api/http_pb.ts";
import { HttpRuleSchema as Http } from "../gen/google/api/http_pb.ts";

type Field = MessageInitShape<typeof FieldDescriptorProtoSchema>;
type Rules = MessageInitShape<typeof FieldRulesSchema>;

/** An rpc of the sample service. */
export type SampleRpc = {
  readonly name: string;
  readonly rule?: MessageInitShape<typeof HttpRuleSchema>;
  readonly stream?: boolean;
  /** The options other than the rule. */
  readonly options?: MethodOptions;
};

/** A service whose requests and responses are a message with a field of every kind. */
export function sampleService(rpcs: readonly SampleRpc[]): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: "sample.proto",
    package: "sample",
    syntax: "proto3",
    dependency: ["timestamp", "duration", "wrappers", "field_mask"].map((name) => `google/protobuf/${name}.proto`),
    enumType: [
      {
        name: "Kind",
        value: [
          { name: "KIND_NONE", number: 0 },
          { name: "KIND_ROUND", number: 1 },
        ],
      },
    ],
    messageType: [{ name: "Inner", field: [field(1, "id", Type.STRING), field(2, "big_one", Type.INT64)] }, sample],
    service: [{ name: "Samples", method: rpcs.map(method) }],
  });
  const files = [
    ...[file_google_protobuf_timestamp, file_google_protobuf_duration],
    ...[file_google_protobuf_wrappers, file_google_protobuf_field_mask],
  ];
  const registry = createFileRegistry(file, (name) => files.find(({ proto }) => proto.name === name));
  const service = registry.getService("sample.Samples");
  if (!service) throw new Error("the sample has no service");
  return service;
}

/** The message with a field of every kind. */
export function sampleMessage(): DescMessage {
  const message = sampleService([{ name: "Any" }]).methods[0]?.input;
  if (!message) throw new Error("the sample has no message");
  return message;
}

const list = { label: Label.REPEATED };

const sample = {
  name: "Sample",
  field: [
    field(1, "name", Type.STRING, {}, { type: { case: "string", value: { maxLen: 5n } } }),
    field(2, "item_count", Type.INT32),
    field(3, "on", Type.BOOL),
    field(4, "tags", Type.STRING, list, { type: { case: "repeated", value: { unique: true, maxItems: 3n } } }),
    field(5, "kind", Type.ENUM, { typeName: ".sample.Kind" }),
    field(6, "inner", Type.MESSAGE, { typeName: ".sample.Inner" }),
    field(7, "flag", Type.MESSAGE, { typeName: ".google.protobuf.BoolValue" }),
    field(8, "at", Type.MESSAGE, { typeName: ".google.protobuf.Timestamp" }),
    field(9, "wait", Type.MESSAGE, { typeName: ".google.protobuf.Duration" }),
    field(10, "kinds", Type.ENUM, { typeName: ".sample.Kind", ...list }),
    field(11, "data", Type.BYTES),
    field(12, "ratio", Type.DOUBLE),
    field(13, "inners", Type.MESSAGE, { typeName: ".sample.Inner", ...list }),
    field(14, "labels", Type.MESSAGE, { typeName: ".sample.Sample.LabelsEntry", ...list }),
    field(15, "left", Type.STRING, { oneofIndex: 0 }),
    field(16, "right", Type.STRING, { oneofIndex: 0 }),
    field(17, "whole", Type.UINT64),
    field(18, "update_mask", Type.MESSAGE, { typeName: ".google.protobuf.FieldMask" }),
  ],
  oneofDecl: [{ name: "side" }],
  nestedType: [
    {
      name: "LabelsEntry",
      options: { mapEntry: true },
      field: [field(1, "key", Type.STRING), field(2, "value", Type.STRING)],
    },
  ],
};

function field(number: number, name: string, type: Type, more: Field = {}, rules?: Rules): Field {
  const options = create(FieldOptionsSchema);
  if (rules) setExtension(options, fieldRules, create(RulesMessage, rules));
  const jsonName = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { number, name, jsonName, type, label: Label.OPTIONAL, options, ...more };
}

function method({ name, rule, stream = false, options: more }: SampleRpc) {
  const options = clone(MethodOptionsSchema, more ?? create(MethodOptionsSchema));
  if (rule) setExtension(options, http, create(Http, rule));
  return { name, inputType: ".sample.Sample", outputType: ".sample.Sample", serverStreaming: stream, options };
}

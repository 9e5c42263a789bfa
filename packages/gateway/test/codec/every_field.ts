import { create, createFileRegistry, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type DescriptorProtoSchema,
  Edition,
  FeatureSet_MessageEncoding as Encoding,
  type FeatureSetSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_wrappers,
  FieldDescriptorProto_Label as Label,
  FeatureSet_FieldPresence as Presence,
  FeatureSet_RepeatedFieldEncoding as Repeated,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

type Features = MessageInitShape<typeof FeatureSetSchema>;
type Spec = {
  readonly type: Type;
  readonly typeName?: string;
  readonly features?: Features;
  readonly oneofIndex?: number;
  readonly isRepeated?: boolean;
  /** The type of a map's keys. */
  readonly key?: Type;
};

const scalars = [
  ...[Type.DOUBLE, Type.FLOAT, Type.INT64, Type.UINT64, Type.INT32, Type.FIXED64, Type.FIXED32, Type.BOOL],
  ...[Type.STRING, Type.BYTES, Type.UINT32, Type.SFIXED32, Type.SFIXED64, Type.SINT32, Type.SINT64],
];
const keys = scalars.filter((type) => ![Type.DOUBLE, Type.FLOAT, Type.BYTES].includes(type));
const isPackable = (type: Type) => ![Type.STRING, Type.BYTES, Type.MESSAGE].includes(type);
const types = [...scalars, Type.ENUM, Type.MESSAGE];

/** Message types with fields of every kind: the first has the usual ones, each other one a kind that few contracts have. */
export function everyField(): readonly DescMessage[] {
  const file = create(FileDescriptorProtoSchema, {
    name: "every.proto",
    package: "every",
    syntax: "editions",
    edition: Edition.EDITION_2023,
    enumType: [{ name: "Kind", value: ["NONE", "ONE", "TWO"].map((name, number) => ({ name, number })) }],
    dependency: imports.map(({ proto }) => proto.name),
    messageType: [message("Every", usual), ...rare.map((specs, at) => message(`Rare${at}`, specs))],
  });
  const registry = createFileRegistry(file, (name) => imports.find(({ proto }) => proto.name === name));
  return registry.getFile(file.name)?.messages ?? [];
}

const imports = [file_google_protobuf_wrappers, file_google_protobuf_struct];
const implicit = { fieldPresence: Presence.IMPLICIT };
const delimited = { messageEncoding: Encoding.DELIMITED };

const usual: readonly Spec[] = [
  ...types.filter((type) => type !== Type.MESSAGE).map((type) => ({ type, features: implicit })),
  ...types.map((type) => ({ type })),
  ...types.map((type) => ({ type, oneofIndex: 0 })),
  ...types.map((type) => ({ type, isRepeated: true })),
  ...types
    .filter(isPackable)
    .map((type) => ({ type, features: { repeatedFieldEncoding: Repeated.EXPANDED }, isRepeated: true })),
  ...types.map((type) => ({ type, key: Type.STRING })),
];

const rare: readonly (readonly Spec[])[] = [
  ...keys.filter((key) => key !== Type.STRING).map((key) => [{ type: Type.MESSAGE, key }]),
  [{ type: Type.STRING, features: { fieldPresence: Presence.LEGACY_REQUIRED } }],
  [{ type: Type.MESSAGE, features: delimited }],
  [{ type: Type.MESSAGE, features: delimited, isRepeated: true }],
  [{ type: Type.MESSAGE, typeName: ".google.protobuf.StringValue" }],
  [{ type: Type.MESSAGE, typeName: ".google.protobuf.Struct" }],
];

/** Numbers the fields downwards, from where a tag has two bytes. */
function message(name: string, specs: readonly Spec[]): MessageInitShape<typeof DescriptorProtoSchema> {
  const numbered = specs.map((spec, at) => ({ spec, number: 2 * (specs.length - at) }));
  return {
    name,
    oneofDecl: specs.some(({ oneofIndex }) => oneofIndex === 0) ? [{ name: "choice" }] : [],
    nestedType: numbered.flatMap(({ spec, number }) => (spec.key ? [entryOf(spec.key, spec.type, number)] : [])),
    field: numbered.map(({ spec: { type, typeName, features = {}, isRepeated = false, oneofIndex, key }, number }) => ({
      number,
      name: `f${number}`,
      type: key ? Type.MESSAGE : type,
      typeName: key ? `.every.${name}.F${number}Entry` : (typeName ?? typeNameOf(type)),
      label: isRepeated || key ? Label.REPEATED : Label.OPTIONAL,
      options: { features },
      ...(oneofIndex === undefined ? {} : { oneofIndex }),
    })),
  };
}

const entryOf = (key: Type, value: Type, number: number) => ({
  name: `F${number}Entry`,
  options: { mapEntry: true },
  field: [
    { name: "key", number: 1, type: key, label: Label.OPTIONAL },
    { name: "value", number: 2, type: value, typeName: typeNameOf(value), label: Label.OPTIONAL },
  ],
});

function typeNameOf(type: Type): string {
  if (type === Type.MESSAGE) return ".every.Every";
  return type === Type.ENUM ? ".every.Kind" : "";
}

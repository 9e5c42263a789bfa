import { type DescEnum, type DescField, type DescMessage, type DescOneof, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { Schema } from "./document.ts";
import type { ApiOptions } from "./options.ts";
import { isNeeded, itemRules, keywords, remarks, rulesOf } from "./rules.ts";

/** The direction of a message, which decides its required fields: those that a request must have, or a response always has. */
export type Direction = "request" | "answer";

/** Makes schemas of messages, and collects those that they refer to. */
export type Schemas = {
  readonly message: (type: DescMessage, direction: Direction) => Schema;
  readonly object: (type: DescMessage, fields: readonly DescField[], direction: Direction) => Schema;
  readonly property: (field: DescField, direction: Direction) => Schema;
  readonly all: () => Record<string, Schema>;
};

/** Makes schemas; `answered` are the types of all responses. */
export function schemas(
  answered: readonly DescMessage[],
  options: Pick<ApiOptions, "comments" | "prefix" | "remarks">,
): Schemas {
  const inAnswers = new Set(answered.flatMap((type) => [...reachable(type)]));
  const components = new Map<string, Schema>();
  const context = (direction: Direction): SchemaContext => ({ inAnswers, components, direction, options });
  return {
    message: (type, direction) => message(context(direction), type),
    object: (type, fields, direction) => object(context(direction), type, fields),
    property: (field, direction) => property(context(direction), field),
    all: () => Object.fromEntries([...components].sort(byName)),
  };
}

type SchemaContext = {
  readonly inAnswers: ReadonlySet<DescMessage>;
  readonly components: Map<string, Schema>;
  readonly direction: Direction;
  readonly options: Pick<ApiOptions, "comments" | "prefix" | "remarks">;
};

function message(context: SchemaContext, type: DescMessage): Schema {
  const wellKnownSchema = wellKnown(type);
  if (wellKnownSchema) return wellKnownSchema;
  const both = context.direction === "request" && context.inAnswers.has(type);
  return component(context, both ? `${shortName(context, type)}.Input` : shortName(context, type), () =>
    object(context, type, type.fields),
  );
}

function component({ components }: SchemaContext, name: string, make: () => Schema): Schema {
  if (!components.has(name)) {
    components.set(name, {});
    components.set(name, make());
  }
  return { $ref: `#/components/schemas/${name}` };
}

function object(context: SchemaContext, type: DescMessage, fields: readonly DescField[]): Schema {
  const required = fields.filter((field) => isRequired(field, context.direction)).map(({ jsonName }) => jsonName);
  const oneofs = type.oneofs.filter((oneof) => oneof.fields.some((field) => fields.includes(field)));
  return {
    type: "object",
    ...described(
      [context.options.comments[type.typeName] ?? "", ...oneofs.map(atMostOne)].filter(Boolean).join(" ").trim(),
    ),
    properties: Object.fromEntries(fields.map((field) => [field.jsonName, property(context, field)])),
    ...(required.length > 0 && { required }),
    // Not additionalProperties, which openapi-generator reads as "any", making types that accept every name.
    ...(context.direction === "request" && { unevaluatedProperties: false }),
  };
}

function property(context: SchemaContext, field: DescField): Schema {
  const rules = rulesOf(field);
  const text = [commentOf(context, field), ...context.options.remarks(field), ...remarks(field)].join(" ").trim();
  return {
    ...shape(context, field),
    ...(rules && keywords(rules)),
    ...(context.direction === "request" && defaultOf(field)),
    ...described(text),
  };
}

function shape(context: SchemaContext, field: DescField): Schema {
  switch (field.fieldKind) {
    case "list": {
      const rules = rulesOf(field);
      const items = rules && itemRules(rules);
      return { type: "array", items: { ...single(context, field), ...(items && keywords(items)) } };
    }
    case "map":
      return { type: "object", additionalProperties: single(context, field) };
    default:
      return single(context, field);
  }
}

function single(context: SchemaContext, field: DescField): Schema {
  if (field.message) return message(context, field.message);
  return field.enum ? enumeration(context, field.enum) : scalar(field.scalar);
}

function enumeration(context: SchemaContext, type: DescEnum): Schema {
  return component(context, shortName(context, type), () => ({
    type: "string",
    ...described(context.options.comments[type.typeName] ?? ""),
    enum: type.values.map(({ name }) => name),
  }));
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

const shortName = ({ options }: SchemaContext, { typeName }: DescMessage | DescEnum) =>
  typeName.startsWith(options.prefix) ? typeName.slice(options.prefix.length) : typeName;

function commentOf({ options }: SchemaContext, { parent, name, message }: DescField): string {
  return inJson([...parent.fields, ...(message?.fields ?? [])], options.comments[`${parent.typeName}.${name}`] ?? "");
}

/** A proto comment with field names in their JSON spelling. */
export function inJson(fields: readonly DescField[], comment: string): string {
  const names = new Map(fields.map(({ name, jsonName }) => [name, jsonName]));
  return comment.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, (word) => names.get(word) ?? word);
}

const described = (description: string) => (description === "" ? {} : { description });

function reachable(type: DescMessage, seen = new Set<DescMessage>()): ReadonlySet<DescMessage> {
  if (seen.has(type)) return seen;
  seen.add(type);
  for (const { message } of type.fields) if (message) reachable(message, seen);
  return seen;
}

const isImplicit = (field: DescField) => field.presence === FeatureSet_FieldPresence.IMPLICIT;

function isRequired(field: DescField, direction: Direction): boolean {
  if (direction === "answer") return isImplicit(field);
  const rules = rulesOf(field);
  return rules !== undefined && (rules.required || isImplicit(field)) && isNeeded(rules);
}

/** The default of an absent field, if it means anything: empty texts, empty lists and unspecified values do not. */
function defaultOf(field: DescField): Schema {
  if (!isImplicit(field) || isRequired(field, "request")) return {};
  const [first] = field.enum?.values ?? [];
  if (field.fieldKind === "enum") return first && !first.name.endsWith("_UNSPECIFIED") ? { default: first.name } : {};
  return field.fieldKind === "scalar" && field.scalar === ScalarType.BOOL ? { default: false } : {};
}

// Client generators fail on `oneOf` and `not` about the presence of properties, so this is a sentence.
function atMostOne({ fields }: DescOneof): string {
  const names = fields.map(({ jsonName }) => `\`${jsonName}\``);
  return names.length > 1 ? `At most one of ${names.slice(0, -1).join(", ")} and ${names.at(-1)} is set.` : "";
}

function scalar(type: ScalarType | undefined): Schema {
  switch (type) {
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { type: "number", format: type === ScalarType.FLOAT ? "float" : "double" };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: "integer", format: "int32" };
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", format: "uint32", minimum: 0 };
    // JSON numbers lose digits beyond 2^53, so proto3 JSON writes 64-bit numbers as text; it accepts numbers too.
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "uint64", pattern: "^[0-9]+$" };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$" };
    default:
      return { type: "string" };
  }
}

const wellKnowns: Readonly<Record<string, Schema>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$" },
  "google.protobuf.FieldMask": { type: "string" },
  "google.protobuf.Empty": { type: "object", unevaluatedProperties: false },
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
  "google.protobuf.Value": {},
  "google.protobuf.Any": {
    type: "object",
    properties: { "@type": { type: "string", description: "The type of the message, as a URL." } },
    required: ["@type"],
    additionalProperties: true,
  },
};

function wellKnown(type: DescMessage): Schema | undefined {
  if (/^google\.protobuf\.\w+Value$/.test(type.typeName) && type.field.value?.scalar)
    return scalar(type.field.value.scalar);
  return wellKnowns[type.typeName];
}

import type { Components, OperationObject, Schema } from "../openapi/document.ts";

/** A body of one content type; its examples take precedence over values that its schema allows. */
type Body = {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>;
};

type Content = Readonly<Record<string, Body>>;

/** An example request body with its required fields; undefined for an operation without a body. */
export function requestExample({ requestBody }: OperationObject, components: Components): unknown {
  const body = bodyIn(requestBody?.content);
  return body && bodyValue(body, { components, allFields: false });
}

/** An example response body with all fields; undefined if the document describes none. */
export function responseExample(content: Content, components: Components): unknown {
  const body = bodyIn(content);
  return body && bodyValue(body, { components, allFields: true });
}

const bodyIn = (content: Content = {}): Body | undefined => content["application/json"] ?? Object.values(content)[0];

function bodyValue({ schema, example, examples = {} }: Body, options: Options): unknown {
  if (example !== undefined) return example;
  const [first] = Object.values(examples);
  return first?.value ?? allowed(schema, options);
}

type Options = {
  readonly components: Components;
  readonly allFields: boolean;
  /** The types around a value; a recursive type stops here. */
  readonly around?: readonly string[];
};

/** A value that a schema allows. */
function allowed(schema: Schema, options: Options): unknown {
  if (schema.$ref) return referred(schema.$ref, options);
  if (schema.enum) return schema.enum[schema.enum.length > 1 && options.allFields ? 1 : 0];
  if (schema.anyOf?.[0]) return allowed(schema.anyOf[0], options);
  switch ([schema.type].flat()[0]) {
    case "object":
      return object(schema, options);
    case "array":
      return schema.items && (schema.minItems || options.allFields) ? items(schema.items, options) : [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    default:
      return text(schema);
  }
}

function referred($ref: string, { components, allFields, around = [] }: Options): unknown {
  const name = $ref.replace(/^.*\//, "");
  if (around.includes(name)) return undefined;
  return allowed(components.schemas[name] ?? {}, { components, allFields, around: [...around, name] });
}

function object({ properties = {}, required = [] }: Schema, options: Options): unknown {
  const shown = Object.entries(properties).filter(([name]) => options.allFields || required.includes(name));
  return Object.fromEntries(shown.map(([name, one]) => [name, allowed(one, options)]));
}

function items(schema: Schema, options: Options): unknown[] {
  const item = allowed(schema, options);
  return item === undefined ? [] : [item];
}

function text({ format, pattern }: Schema): string {
  if (format === "email") return "ada@example.com";
  if (format === "date-time") return "2030-01-01T00:00:00Z";
  if (format === "uint64" || format === "int64") return "1";
  return pattern?.endsWith("s$") ? "3600s" : "…";
}

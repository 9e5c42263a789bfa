import type { Document, Schema } from "../../packages/gateway/src/services/openapi/document.ts";

/** The rules of a schema that a value breaks, as `path: rule`; for the part of JSON Schema that our documents use. */
export function broken(document: Document, schema: Schema, value: unknown, path = "$"): string[] {
  const inner = (one: Schema, at: unknown, where = path) => broken(document, one, at, where);
  const fits = (one: Schema) => inner(one, value).length === 0;
  const wrong = (rule: string, isWrong: boolean) => (isWrong ? [`${path}: ${rule}`] : []);
  return [
    ...(schema.$ref ? inner(resolve(document, schema.$ref), value) : []),
    ...wrong("type", schema.type !== undefined && !isA(schema.type, value)),
    ...wrong("enum", schema.enum !== undefined && !schema.enum.includes(String(value))),
    ...wrong("anyOf", schema.anyOf !== undefined && !schema.anyOf.some(fits)),
    ...(typeof value === "string" ? text(schema, value).map((rule) => `${path}: ${rule}`) : []),
    ...(typeof value === "number"
      ? wrong("range", value < (schema.minimum ?? value) || value > (schema.maximum ?? value))
      : []),
    ...(Array.isArray(value) ? value.flatMap((one, index) => inner(schema.items ?? {}, one, `${path}[${index}]`)) : []),
    ...(isA("object", value) ? members(document, schema, value as Record<string, unknown>, path) : []),
  ];
}

function resolve(document: Document, ref: string): Schema {
  const found = document.components.schemas[ref.replace("#/components/schemas/", "")];
  if (!found) throw new Error(`${ref} leads nowhere`);
  return found;
}

function isA(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}

function text({ pattern, minLength = 0, maxLength = Infinity, format }: Schema, value: string): string[] {
  return [
    ...(pattern && !new RegExp(pattern, "u").test(value) ? ["pattern"] : []),
    ...([...value].length < minLength || [...value].length > maxLength ? ["length"] : []),
    ...(format === "date-time" && !/^\d{4}-\d\d-\d\dT.*Z$/.test(value) ? ["format"] : []),
  ];
}

function members(document: Document, schema: Schema, value: Record<string, unknown>, path: string): string[] {
  const { properties = {}, required = [], additionalProperties, unevaluatedProperties } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${path}.${name}: required`);
  const wrong = Object.entries(value).flatMap(([name, one]) => {
    const known = properties[name] ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
    if (known) return broken(document, known, one, `${path}.${name}`);
    return unevaluatedProperties === false ? [`${path}.${name}: unknown`] : [];
  });
  return [...missing, ...wrong];
}

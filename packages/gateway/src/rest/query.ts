import type { DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { isWellKnown } from "../codec/json/leaf.ts";
import { fieldIn } from "../codec/json/syntax.ts";
import { isObject } from "../codec/json/text.ts";
import { GatewayError } from "../errors/gateway_error.ts";
import { maxViolations, type Violation } from "../errors/violation.ts";
import { type Binding, jsonOf } from "./binding.ts";

/** Puts the query parameters into the JSON of the message; each unknown one is a violation, up to a maximum. */
export function bindQuery(binding: Binding, message: DescMessage, query: string, json: JsonObject): Violation[] {
  if (query === "") return [];
  const names = new Set<string>();
  const violations: Violation[] = [];
  for (const pair of query.split("&")) {
    if (violations.length >= maxViolations) break;
    if (pair === "") continue;
    const [name, text] = parameter(pair);
    const fields = binding.body === "*" ? undefined : fieldsOf(message, name.split("."));
    if (!fields || isBound(binding, fields)) violations.push(unknown(name));
    else violations.push(...set(fields, text, { json, path: "", names }));
  }
  return violations;
}

const unknown = (field: string): Violation => ({
  field,
  text: "PARAMETER_UNKNOWN",
  reason: "UNKNOWN_FIELD",
});

function parameter(pair: string): [name: string, text: string] {
  const equals = pair.indexOf("=");
  const name = equals < 0 ? pair : pair.slice(0, equals);
  return [decoded(name), equals < 0 ? "" : decoded(pair.slice(equals + 1))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (cause) {
    throw new GatewayError("MALFORMED_REQUEST", { params: { problem: "QUERY_MALFORMED" }, cause });
  }
}

/** The fields along a name such as `filter.state`, in either spelling; the last one must be a value. */
function fieldsOf(message: DescMessage, names: readonly string[]): DescField[] | undefined {
  const field = message.fields.find(({ jsonName, name }) => jsonName === names[0] || name === names[0]);
  if (!field || field.fieldKind === "map") return undefined;
  const inner = field.message && !isWellKnown(field.message) ? field.message : undefined;
  if (!inner) return names.length === 1 ? [field] : undefined;
  if (field.fieldKind === "list") return undefined;
  const rest = fieldsOf(inner, names.slice(1));
  return rest && [field, ...rest];
}

function isBound(binding: Binding, fields: readonly DescField[]): boolean {
  const inPath = binding.variables.some((bound) => bound.fields.every((field, depth) => field === fields[depth]));
  return inPath || fields[0] === binding.body;
}

type Place = { readonly json: JsonObject; readonly path: string; readonly names: Set<string> };

function set(fields: readonly DescField[], text: string, { json, path, names }: Place): Violation[] {
  const [field, ...inner] = fields;
  if (!field) return [];
  const at = fieldIn(path, field.jsonName);
  if (inner.length > 0) {
    json[field.jsonName] ??= {};
    const inside = json[field.jsonName];
    return isObject(inside) ? set(inner, text, { json: inside, path: at, names }) : [];
  }
  const value = jsonOf(field, text);
  if (field.fieldKind === "list") {
    const items = json[field.jsonName];
    if (Array.isArray(items)) items.push(value);
    else json[field.jsonName] = [value];
    return [];
  }
  if (names.has(at)) return [{ field: at, text: "FIELD_REPEATED", reason: "REPEATED_FIELD" }];
  names.add(at);
  json[field.jsonName] = value;
  return [];
}

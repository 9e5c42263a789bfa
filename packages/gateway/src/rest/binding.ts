import type { DescField, DescMessage, DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { isWellKnown } from "../codec/json/leaf.ts";
import { fieldIn } from "../codec/json/syntax.ts";
import { isObject } from "../codec/json/text.ts";
import type { Violation } from "../errors/violation.ts";
import type { Template, Variable } from "./parser.ts";
import { type MaskedBody, maskedBody } from "./update_mask.ts";

/** Maps a REST request to the JSON of a message, and a response to its body. */
export type Binding = {
  readonly variables: readonly BoundVariable[];
  /** The message, one of its fields, or none. */
  readonly body: "*" | DescField | undefined;
  /** The body and the mask of an update, if the mask derives from the body. */
  readonly masked: MaskedBody | undefined;
  /** The field that makes up the whole response body. */
  readonly responseBody: DescField | undefined;
};

type BoundVariable = Variable & { readonly fields: readonly DescField[] };

/** A rule that does not fit its rpc. */
export class BindingError extends Error {
  override readonly name = "BindingError";
}

/** Resolves the fields of a rule; throws a BindingError for an invalid one. */
export function compileBinding(method: DescMethod, rule: HttpRule, template: Template): Binding {
  const variables = template.variables.map((variable) => ({
    ...variable,
    fields: fieldsOf(method.input, variable.path),
  }));
  const body = rule.body === "*" || rule.body === "" ? undefined : topField(method.input, "body", rule.body);
  const responseBody = rule.responseBody ? topField(method.output, "response_body", rule.responseBody) : undefined;
  if (body && variables.some(({ fields }) => fields[0] === body))
    throw new BindingError(`the body ${body.name} is also in the path`);
  const masked = rule.pattern.case === "patch" ? maskedBody(method.input, body) : undefined;
  return { variables, body: rule.body === "*" ? "*" : body, masked, responseBody };
}

function topField(message: DescMessage, option: string, name: string): DescField {
  const field = message.fields.find((one) => one.name === name);
  if (!field) throw new BindingError(`the ${option} ${name} is not a field of ${message.typeName}`);
  return field;
}

function fieldsOf(message: DescMessage, path: readonly string[]): DescField[] {
  let inside: DescMessage | undefined = message;
  const fields = path.map((name) => {
    const field: DescField | undefined = inside?.fields.find((one) => one.name === name);
    if (!field) throw new BindingError(`the variable ${path.join(".")} is not a field of ${message.typeName}`);
    inside = field.fieldKind === "message" && !isWellKnown(field.message) ? field.message : undefined;
    return field;
  });
  const last = fields.at(-1);
  if (inside || !last || last.fieldKind === "list" || last.fieldKind === "map")
    throw new BindingError(`the variable ${path.join(".")} is not a single value`);
  return fields;
}

/** Puts the path's values into the JSON of the message; a different value in the body is a violation. */
export function bindPath(binding: Binding, raw: readonly string[], json: JsonObject): Violation[] {
  return binding.variables.flatMap((variable) => {
    const value = raw.slice(variable.start, variable.end).map(variable.multi ? decodeExceptSlash : decodeURIComponent);
    return setAt(variable.fields, value.join("/"), { json, path: "" });
  });
}

// In a variable of several segments, an encoded slash must differ from a real one.
const decodeExceptSlash = (segment: string) => segment.split(/(%2F)/i).map(decodeUnlessSlash).join("");
const decodeUnlessSlash = (part: string) => (/^%2F$/i.test(part) ? part : decodeURIComponent(part));

function setAt(fields: readonly DescField[], text: string, at: { json: JsonObject; path: string }): Violation[] {
  const [field, ...inner] = fields;
  if (!field) return [];
  const path = fieldIn(at.path, field.jsonName);
  const keys = [field.jsonName, field.name].filter((key) => Object.hasOwn(at.json, key) && at.json[key] !== null);
  if (inner.length > 0) {
    const json = keys[0] === undefined ? {} : at.json[keys[0]];
    at.json[keys[0] ?? field.jsonName] ??= json ?? {};
    const inside = at.json[keys[0] ?? field.jsonName];
    return isObject(inside) ? setAt(inner, text, { json: inside, path }) : [];
  }
  if (keys.length === 0) at.json[field.jsonName] = jsonOf(field, text);
  const differs = keys.some((key) => !isSame(field, at.json[key], text));
  return differs ? [{ field: path, text: "FIELD_IN_PATH", reason: "PATH_DIFFERS" }] : [];
}

function isSame(field: DescField, value: JsonValue | undefined, text: string): boolean {
  const numbers = field.enum?.values;
  const numberOf = (name: string) => numbers?.find((one) => one.name === name)?.number.toString() ?? name;
  return typeof value !== "object" && numberOf(String(value)) === numberOf(text);
}

/** Converts a text from the path or query to the JSON of its field; an invalid one stays a string and is refused as such. */
export function jsonOf(field: DescField, text: string): JsonValue {
  const wrapped = field.message?.typeName.startsWith("google.protobuf.") ? field.message.field.value : undefined;
  const isBool = (wrapped ?? field).scalar === boolScalar;
  if (isBool && (text === "true" || text === "false")) return text === "true";
  // The names of enum values never begin with a digit.
  if (field.enum && /^-?\d+$/.test(text)) return Number(text);
  return text;
}

const boolScalar: DescField["scalar"] = 8;

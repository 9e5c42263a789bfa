import {
  createRegistry,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { GatewayError, invalid } from "../errors/gateway_error.ts";
import { mostViolations, pathsAround, type Violation } from "../errors/violation.ts";
import { type Shape, shapeOfMessage } from "./json/shape.ts";
import { isObject, readJsonText } from "./json/text.ts";
import { isStrictEnough, walk } from "./json/walk.ts";

/** Tells which rules a message breaks, beside what was found wrong already; made for one type of message. */
export type Rules = (message: Message, found?: readonly Violation[]) => readonly Violation[];

/** What was found wrong before decoding, and what is to be decoded. */
export type Draft = { readonly value: JsonValue; readonly violations: readonly Violation[] };

/** Reads a request body as the JSON of a shape; nothing is an empty message. */
export function readJson(body: Uint8Array, shape: Shape): Draft {
  if (body.length === 0) return { value: {}, violations: [] };
  const text = readJsonText(body, shape);
  if (!text) throw new GatewayError("MALFORMED_BODY");
  return text;
}

/** Reads a request body that is a whole message. */
export function readJsonObject(body: Uint8Array, type: DescMessage): Draft {
  const text = readJson(body, shapeOfMessage(type));
  if (!isObject(text.value)) throw new GatewayError("MALFORMED_BODY");
  return text;
}

// Nobody is signed in yet: a huge list is not worth the rules of its items.
const mostValues = 10_000;

/** What a JSON value is held against, and the types that an Any in it may hold. */
export type JsonRules = { readonly rules: Rules; readonly registry: Registry };

/** Decodes a JSON value, or refuses it with every field that is wrong and every rule that is broken. */
export function decodeJson(type: DescMessage, { value, violations }: Draft, { rules, registry }: JsonRules): Message {
  if (violations.length === 0 && isStrictEnough(type, value)) {
    const message = attempt(type, value, registry);
    if (message) return message;
  }
  const { readable, violations: wrong, values } = walk(type, value, violations);
  if (wrong.length === 0) throw new GatewayError("MALFORMED_BODY");
  const isPartial = wrong.length >= mostViolations || values > mostValues;
  const message = isPartial ? undefined : attempt(type, readable, registry);
  const broken = message ? rules(message, wrong) : [];
  throw invalid([...wrong, ...broken.filter(coverage(wrong))], isPartial);
}

/** Writes a message as proto3 JSON, with every implicit field. */
export function encodeJson(type: DescMessage, message: Message, registry: Registry = anyTypes): JsonValue {
  return toJson(type, message, { alwaysEmitImplicit: true, registry });
}

/** The types that an Any may hold in JSON: the details of errors. */
export const anyTypes = createRegistry(file_google_rpc_error_details);

function attempt(type: DescMessage, value: JsonValue, registry: Registry): Message | undefined {
  try {
    return fromJson(type, value, { ignoreUnknownFields: false, registry });
  } catch {
    return undefined;
  }
}

/** Tells a broken rule that does not only echo a field that could not be read. */
function coverage(wrong: readonly Violation[]): (rule: Violation) => boolean {
  const unread = new Set(wrong.map(({ field }) => field));
  let around: ReadonlySet<string> | undefined;
  return ({ field, reason }) => {
    for (const path of pathsAround(field)) if (unread.has(path)) return false;
    if (reason !== "REPEATED_UNIQUE") return true;
    // A list whose broken items were stood in for seems to hold equal ones.
    around ??= new Set(wrong.flatMap((one) => [...pathsAround(one.field)]));
    return !around.has(field);
  };
}

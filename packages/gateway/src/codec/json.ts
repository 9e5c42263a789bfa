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
import { unreadable } from "../errors/problem.ts";
import { maxViolations, pathsAround, type Violation } from "../errors/violation.ts";
import { type Shape, shapeOfMessage } from "./json/shape.ts";
import { isObject, readJsonText } from "./json/text.ts";
import { isStrictEnough, walk } from "./json/walk.ts";
import { addItem, eachInPieces, type JsonList, longListInJson, type Pause } from "./pieces.ts";

/** Returns the rules that a message of one type breaks, in addition to the existing violations. */
export type Rules = (message: Message, existing?: readonly Violation[]) => readonly Violation<string>[];

/** A JSON value to decode, and the violations already known. */
export type Draft = { readonly value: JsonValue; readonly violations: readonly Violation[] };

/** Parses a request body as JSON of a shape; an empty body is an empty message. */
export function readJson(body: Uint8Array, shape: Shape): Draft {
  if (body.length === 0) return { value: {}, violations: [] };
  return readJsonText(body, shape);
}

/** Parses a request body as the JSON of a message. */
export function readJsonObject(body: Uint8Array, type: DescMessage): Draft {
  const text = readJson(body, shapeOfMessage(type));
  if (!isObject(text.value)) throw unreadable("BODY_NOT_OBJECT");
  return text;
}

// The caller may still be unknown, and checking the items of a huge list would cost too much.
const maxValues = 10_000;

/** The rules for a JSON value, the types that an Any in it may contain, and whether unknown fields are ignored. */
export type JsonRules = {
  readonly rules: Rules;
  readonly registry: Registry;
  readonly ignoresUnknown?: boolean | undefined;
};

/** Decodes a JSON value; fails with all invalid fields and broken rules. */
export function decodeJson(type: DescMessage, { value, violations }: Draft, how: JsonRules): Message {
  const { rules, ignoresUnknown = false } = how;
  if (violations.length === 0 && isStrictEnough(type, value)) {
    const message = attempt(type, value, how);
    if (message) return message;
  }
  const { readable, violations: typeViolations, values } = walk(type, value, { existing: violations, ignoresUnknown });
  // protobuf-es found something that the walk does not know.
  if (typeViolations.length === 0) throw new GatewayError("MALFORMED_BODY");
  const isPartial = typeViolations.length >= maxViolations || values > maxValues;
  const message = isPartial ? undefined : attempt(type, readable, how);
  const brokenRules = message ? rules(message, typeViolations) : [];
  throw invalid([...typeViolations, ...brokenRules.filter(notCovered(typeViolations))], isPartial);
}

/** The same for a message that may be long: a long list is decoded in pieces. */
export function decodeJsonInPieces(
  type: DescMessage,
  draft: Draft,
  how: JsonRules & { readonly pause: Pause },
): Message | Promise<Message> {
  const { value, violations } = draft;
  const isSound = violations.length === 0 && isObject(value) && isStrictEnough(type, value);
  const list = isSound ? longListInJson(type, value) : undefined;
  if (!list) return decodeJson(type, draft, how);
  return attemptInPieces(type, list, how).then((message) => message ?? decodeJson(type, draft, how));
}

/** Writes a message as proto3 JSON, with every implicit field. */
export function encodeJson(type: DescMessage, message: Message, registry: Registry = anyTypes): JsonValue {
  return toJson(type, message, { alwaysEmitImplicit: true, registry });
}

/** The types that an Any may contain in JSON: the details of errors. */
export const anyTypes = createRegistry(file_google_rpc_error_details);

function attempt(type: DescMessage, value: JsonValue, how: JsonRules): Message | undefined {
  const { registry, ignoresUnknown: ignoreUnknownFields = false } = how;
  try {
    return fromJson(type, value, { ignoreUnknownFields, registry });
  } catch {
    return undefined;
  }
}

async function attemptInPieces(
  type: DescMessage,
  { json, field, key, items }: JsonList,
  how: JsonRules & { readonly pause: Pause },
): Promise<Message | undefined> {
  const message = attempt(type, { ...json, [key]: [] }, how);
  if (!message) return undefined;
  let isReadable = true;
  await eachInPieces(items, how.pause, (one) => {
    const item = isReadable ? attempt(field.message, one, how) : undefined;
    if (item) addItem(message, field, item);
    else isReadable = false;
  });
  return isReadable ? message : undefined;
}

/** Filters out broken rules that merely repeat an unreadable field. */
function notCovered(typeViolations: readonly Violation[]): (rule: Violation<string>) => boolean {
  const unread = new Set(typeViolations.map(({ field }) => field));
  let parents: ReadonlySet<string> | undefined;
  return ({ field, reason }) => {
    for (const path of pathsAround(field)) if (unread.has(path)) return false;
    if (reason !== "REPEATED_UNIQUE") return true;
    // Placeholders for unreadable items may be equal to each other.
    parents ??= new Set(typeViolations.flatMap((one) => [...pathsAround(one.field)]));
    return !parents.has(field);
  };
}

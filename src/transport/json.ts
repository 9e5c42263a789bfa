import { createRegistry, type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { isWithin, refuse, type Violation } from "../errors.ts";
import { isObject, type JsonText, readJsonText } from "./json/text.ts";
import { isStrictEnough, walk } from "./json/walk.ts";

/** Tells which rules a message breaks, beside what was found wrong already; made for one type of message. */
export type Rules = (message: Message, found?: readonly Violation[]) => readonly Violation[];

/** What was found wrong before decoding, and what is to be decoded. */
export type Draft = { readonly value: JsonValue; readonly violations: readonly Violation[] };

/** Reads a request body as JSON: an object, or nothing for an empty message. */
export function readJson(body: Uint8Array): JsonText {
  if (body.length === 0) return { value: {}, repeated: [] };
  const text = readJsonText(body);
  if (!text) throw refuse.because("MALFORMED_BODY");
  return text;
}

/** Reads a request body that is a whole message. */
export function readJsonObject(body: Uint8Array): JsonText {
  const text = readJson(body);
  if (!isObject(text.value)) throw refuse.because("MALFORMED_BODY");
  return text;
}

/** A violation for each key that a JSON text has twice. */
export const twice = (repeated: readonly string[]): Violation[] =>
  repeated.map((field) => ({ field, description: "is there more than once", reason: "REPEATED_FIELD" }));

/** Decodes a JSON value, or refuses it with every field that is wrong and every rule that is broken. */
export function decodeJson(type: DescMessage, { value, violations }: Draft, rules: Rules): Message {
  if (violations.length === 0 && isStrictEnough(type, value)) {
    const message = attempt(type, value);
    if (message) return message;
  }
  const walked = walk(type, value);
  const wrong = [...violations, ...walked.violations];
  const message = attempt(type, walked.readable);
  if (wrong.length === 0) throw refuse.because("MALFORMED_BODY");
  // Nobody is signed in yet: a huge list is not worth the rules of its items.
  const broken = message && walked.values <= 10_000 ? rules(message, wrong) : [];
  throw refuse.invalid([...wrong, ...broken.filter((rule) => !isCovered(rule, wrong))]);
}

/** Writes a message as proto3 JSON, with every implicit field. */
export function encodeJson(type: DescMessage, message: Message): JsonValue {
  return toJson(type, message, { alwaysEmitImplicit: true, registry: anyTypes });
}

/** The types that an Any may hold in JSON. */
export const anyTypes = createRegistry(file_google_rpc_error_details);

function attempt(type: DescMessage, value: JsonValue): Message | undefined {
  try {
    return fromJson(type, value, { ignoreUnknownFields: false, registry: anyTypes });
  } catch {
    return undefined;
  }
}

/** Whether a broken rule only echoes a field that could not be read. */
function isCovered(rule: Violation, wrong: readonly Violation[]): boolean {
  return wrong.some(
    ({ field }) => isWithin(rule.field, field) || (rule.reason === "REPEATED_UNIQUE" && isWithin(field, rule.field)),
  );
}

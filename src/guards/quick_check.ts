import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { all_visible, max_inner_items, one_line, trim } from "../../gen/postern/v1/options_pb.ts";
import { isSoundObject, isText } from "./open_object.ts";

/**
 * Makes a cheap check that nothing in a message needs trimming or breaks a rule about values. A message that fails it goes through
 * reflection, which costs ten times as much and handles every kind of field.
 */
export function quickCheck(type: DescMessage, outer: readonly DescMessage[] = []): (message: Message) => boolean {
  const within = [...outer, type];
  const fields = type.fields.filter(isLookedAt).map((field) => glance(field, within));
  return (message) => fields.every((isSound) => isSound(message));
}

const openObject = "google.protobuf.Struct";

const isLookedAt = ({ fieldKind, scalar }: DescField) => fieldKind !== "scalar" || scalar === ScalarType.STRING;

/** Whether a text has a visible character. U+2800 is a symbol, but looks blank. */
export const isVisible = (text: string): boolean =>
  /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);

/**
 * Whether a text is a single line in a single direction: no line separators, no control characters except U+0000, which another rule
 * refuses.
 */
export const isOneLine = (text: string): boolean => !/(?!\0)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(text);

/** Whether a text has no invisible characters other than spaces and control characters, which the pattern of such fields refuses. */
export const isAllVisible = (text: string): boolean => !/(?!\p{C})[\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);

type Glance = (message: Message) => boolean;

function glance(field: DescField, within: readonly DescMessage[]): Glance {
  const name = field.localName;
  if (field.oneof) {
    const { localName } = field.oneof;
    return (message) => !isObject(kept(message, localName)) || caseOf(kept(message, localName)) === undefined;
  }
  if (field.fieldKind === "scalar") {
    const isSound = soundText(field);
    return (message) => isUnset(kept(message, name)) || isSound(kept(message, name));
  }
  if (field.fieldKind === "enum") {
    const known = field.enum.value;
    return (message) => isUnset(kept(message, name)) || known[Number(kept(message, name))] !== undefined;
  }
  const isSound = soundInside(field, within);
  return (message) => isUnset(kept(message, name)) || isSound(kept(message, name));
}

/** Makes the check of a text by the options of its field. */
function soundText(field: DescField): (value: unknown) => boolean {
  const isSound = getOption(field, trim) ? isTrimmed : isSoundText;
  if (getOption(field, one_line)) return (value) => isSound(value) && isOneLine(String(value));
  if (getOption(field, all_visible)) return (value) => isSound(value) && isAllVisible(String(value));
  return isSound;
}

/** Makes the check of a message, or a list of messages, within another. Messages that it does not look into pass only when empty. */
function soundInside(field: DescField, within: readonly DescMessage[]): (value: unknown) => boolean {
  const { message, fieldKind } = field;
  if (message?.typeName === openObject && fieldKind === "message") return (value) => isSoundObject(value as JsonValue);
  // A Timestamp or similar, or a recursive message.
  if (!message?.typeName.startsWith("postern.") || within.includes(message)) return isEmpty;
  const isSound = quickCheck(message, within);
  if (fieldKind === "message") return (value) => isSound(value as Message);
  if (fieldKind !== "list" || hasOption(field, max_inner_items)) return isEmpty;
  const most = mostItems(field);
  return (value) => Array.isArray(value) && value.length <= most && value.every(isSound);
}

/** The maximum length of a list; 0 if it has no limit of its own. */
function mostItems(field: DescField): number {
  const rules = hasOption(field, fieldRules) ? getOption(field, fieldRules).type : undefined;
  return rules?.case === "repeated" ? Number(rules.value.maxItems) : 0;
}

// The layout of messages: https://github.com/bufbuild/protobuf-es/blob/main/MANUAL.md#field-descriptors
const kept = (message: Message, name: string): unknown => (message as unknown as Record<string, unknown>)[name];
const caseOf = (oneof: unknown): unknown => (isObject(oneof) && "case" in oneof ? oneof.case : undefined);
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isUnset = (value: unknown) => value === undefined;
const isSoundText = (value: unknown) => typeof value === "string" && isText(value);
const isTrimmed = (value: unknown) =>
  typeof value === "string" && isText(value) && value.trim() === value && (value === "" || isVisible(value));
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { trim } from "../../gen/postern/v1/options_pb.ts";

/**
 * Makes a cheap check that nothing in a message needs trimming or breaks a rule of values. A message that fails it goes through
 * reflection, which costs ten times as much and handles every kind of field.
 */
export function soundness(type: DescMessage): (message: Message) => boolean {
  const fields = type.fields.filter(isLookedAt).map(glance);
  return (message) => fields.every((isSound) => isSound(message));
}

const isLookedAt = ({ fieldKind, scalar }: DescField) => fieldKind !== "scalar" || scalar === ScalarType.STRING;

/** Whether a text has a visible character; U+2800 is a symbol, but blank. */
export const isVisible = (text: string): boolean =>
  /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);

type Glance = (message: Message) => boolean;

function glance(field: DescField): Glance {
  const name = field.localName;
  if (field.oneof) {
    const { localName } = field.oneof;
    return (message) => !isObject(kept(message, localName)) || caseOf(kept(message, localName)) === undefined;
  }
  if (field.fieldKind === "scalar") {
    const isSound = getOption(field, trim) ? isTrimmed : isText;
    return (message) => isUnset(kept(message, name)) || isSound(kept(message, name));
  }
  if (field.fieldKind === "enum") {
    const known = field.enum.value;
    return (message) => isUnset(kept(message, name)) || known[Number(kept(message, name))] !== undefined;
  }
  return (message) => isUnset(kept(message, name)) || isEmpty(kept(message, name));
}

// The layout of messages: https://github.com/bufbuild/protobuf-es/blob/main/MANUAL.md#field-descriptors
const kept = (message: Message, name: string): unknown => (message as unknown as Record<string, unknown>)[name];
const caseOf = (oneof: unknown): unknown => (isObject(oneof) && "case" in oneof ? oneof.case : undefined);
const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const isUnset = (value: unknown) => value === undefined;
const isText = (value: unknown) => typeof value === "string" && !value.includes("\0") && value.isWellFormed();
const isTrimmed = (value: unknown) =>
  isText(value) && typeof value === "string" && value.trim() === value && (value === "" || isVisible(value));
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;

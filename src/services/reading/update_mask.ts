import type { MessageShape } from "@bufbuild/protobuf";
import { create, type DescField, type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { refuse, type Violation } from "../../errors.ts";
import type { Versioned } from "../../events/fact.ts";
import { type MessageRule, messageRule } from "../../rules.ts";

/** The fields that an update changes, with their new values; a removed message has no value. */
export type Changes<T> = { readonly [K in Exclude<keyof T, keyof Message>]?: Exclude<T[K], undefined> };

/** The fields that an update changes: those of its mask, with defaults for unset ones, otherwise the populated ones. */
export function changesOf<D extends DescMessage>(
  type: D,
  content: MessageShape<D> | undefined,
  mask: FieldMask | undefined,
): Changes<MessageShape<D>> {
  const message: Message = content ?? create(type);
  const values = changedFields(type, message, mask).map(
    (field) => [field.localName, changedValue(message, field)] as const,
  );
  return Object.fromEntries(values) as Changes<MessageShape<D>>;
}

/** Makes the rule of an update request: its mask names at least one field of its content, and each required field that it names is set. */
export function updateRule<D extends DescMessage>(request: D, content: string): MessageRule {
  const field = request.fields.find(({ name }) => name === content);
  if (field?.fieldKind !== "message") throw new Error(`${request.typeName} has no message ${content}`);
  const { message: type, localName, jsonName } = field;
  return messageRule(request, (message) => {
    const { updateMask, [localName]: sent } = message as Message & { updateMask?: FieldMask; [name: string]: unknown };
    const unknown = (updateMask?.paths ?? []).filter((path) => !isKnown(type, path)).map(unknownPath);
    if (sent === undefined || unknown.length > 0) return unknown;
    const changed = changedFields(type, sent as Message, updateMask);
    if (changed.length === 0) return [nothingNamed];
    const fields = reflect(type, sent as Message);
    return changed
      .filter((one) => isNeeded(one) && !fields.isSet(one))
      .map((one): Violation => ({ field: `${jsonName}.${one.jsonName}`, text: "FIELD_REQUIRED", reason: "REQUIRED" }));
  });
}

/** Refuses an update if the object's version is not the expected one. */
export function refuseOvertaken({ version }: Pick<Versioned, "version">, expected: bigint | undefined): void {
  if (expected === undefined || expected === version) return;
  throw refuse.because("CONFLICT", { params: { currentSequence: String(version) } });
}

const everything = "*";

function changedFields(type: DescMessage, message: Message, mask: FieldMask | undefined): readonly DescField[] {
  const paths = new Set(mask?.paths.map(headOf));
  if (paths.has(everything)) return type.fields;
  if (paths.size > 0) return type.fields.filter(({ name, jsonName }) => paths.has(name) || paths.has(jsonName));
  const populated = reflect(type, message);
  return type.fields.filter((field) => populated.isSet(field));
}

/** The field that a path leads to or into. */
const headOf = (path: string): string => path.split(".", 1)[0] ?? "";

const isKnown = (type: DescMessage, path: string): boolean => path === everything || isField(type, path.split("."));

/** Whether a path names a field, at any depth within messages of our own. */
function isField({ fields }: DescMessage, [head, ...rest]: readonly string[]): boolean {
  const field = fields.find(({ name, jsonName }) => head === name || head === jsonName);
  if (!field || rest.length === 0) return field !== undefined;
  return field.fieldKind === "message" && field.message.typeName.startsWith("postern.") && isField(field.message, rest);
}

function unknownPath(path: string): Violation {
  const shown = path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return { field: "updateMask", text: "MASK_PATH", params: { path: shown }, reason: "MASK_PATH_UNKNOWN" };
}

const nothingNamed: Violation = {
  field: "updateMask",
  text: "MASK_NOTHING",
  reason: "MASK_EMPTY",
};

/** Whether the field's rules refuse an empty text, which is what an unset text means. */
function isNeeded(field: DescField): boolean {
  const type = hasOption(field, fieldRules) ? getOption(field, fieldRules).type : undefined;
  return type?.case === "string" && type.value.minLen > 0n;
}

/** The value of a field; if unset, the default of a number, text or enum, and undefined for a message. */
function changedValue(message: Message, field: DescField): unknown {
  const isSingle = field.fieldKind === "scalar" || field.fieldKind === "enum";
  if (isSingle) return reflect(field.parent, message).get(field);
  return (message as unknown as Record<string, unknown>)[field.localName];
}

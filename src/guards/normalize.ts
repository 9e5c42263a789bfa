import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import {
  isReflectMessage,
  type ReflectList,
  type ReflectMap,
  type ReflectMessage,
  reflect,
} from "@bufbuild/protobuf/reflect";
import { StructSchema, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { all_visible, max_inner_items, one_line, outcomes_unless, trim } from "../../gen/postern/v1/options_pb.ts";
import { maxViolations, type Violation } from "../errors.ts";
import { unsoundTexts } from "./open_object.ts";
import { isAllVisible, isOneLine, isVisible, quickCheck } from "./quick_check.ts";
import type { Defect } from "./rule_text.ts";

/** A field to inspect, with its options, which are slow to read. */
type InspectedField = {
  readonly field: DescField;
  readonly trims: boolean;
  readonly isOneLine: boolean;
  readonly isAllVisible: boolean;
  /** The maximum length of a trimmed text, counted before trimming. */
  readonly longest: number | undefined;
  readonly most: number | undefined;
  readonly mostInner: number | undefined;
  /** Whether its items have outcomes of their own. */
  readonly hasOutcomes: boolean;
};

type FieldsByType = Map<DescMessage, readonly InspectedField[]>;
type Inspection = { readonly path: string; readonly found: Violation[]; readonly fieldsByType: FieldsByType };

/**
 * Trims the fields whose options say so, rounds times down to microseconds, PostgreSQL's precision, and finds values that no field may
 * have: broken text, unknown enum values, and times outside the years 1 to 9999.
 */
export function normalizer(type: DescMessage): (message: Message) => Violation[] {
  const fieldsByType: FieldsByType = new Map();
  addFieldsOf(type, fieldsByType);
  const isSound = quickCheck(type);
  return (message) => {
    if (isSound(message)) return [];
    const found: Violation[] = [];
    inspect(reflect(type, message), { path: "", found, fieldsByType });
    return found;
  };
}

function addFieldsOf(type: DescMessage, fieldsByType: FieldsByType): void {
  if (fieldsByType.has(type)) return;
  const fields = type.fields.filter(
    ({ scalar, fieldKind }) => scalar === undefined || scalar === ScalarType.STRING || fieldKind !== "scalar",
  );
  fieldsByType.set(
    type,
    fields.map((field) => ({
      field,
      trims: getOption(field, trim),
      isOneLine: getOption(field, one_line),
      isAllVisible: getOption(field, all_visible),
      longest: longestText(field),
      most: mostItems(field),
      mostInner: hasOption(field, max_inner_items) ? getOption(field, max_inner_items) : undefined,
      hasOutcomes: hasOption(field, outcomes_unless),
    })),
  );
  for (const { message } of fields) if (message) addFieldsOf(message, fieldsByType);
}

function mostItems(field: DescField): number | undefined {
  const type = hasOption(field, fieldRules) ? getOption(field, fieldRules).type : undefined;
  return type?.case === "repeated" && type.value.maxItems ? Number(type.value.maxItems) : undefined;
}

function longestText(field: DescField): number | undefined {
  const type = hasOption(field, fieldRules) ? getOption(field, fieldRules).type : undefined;
  const inner = type?.case === "repeated" ? type.value.items?.type : type;
  return inner?.case === "string" && inner.value.maxLen ? Number(inner.value.maxLen) : undefined;
}

function inspect(message: ReflectMessage, { path: parent, found, fieldsByType }: Inspection): void {
  for (const inspected of fieldsByType.get(message.desc) ?? []) {
    const { field } = inspected;
    if (!message.isSet(field)) continue;
    const at = { path: parent ? `${parent}.${field.jsonName}` : field.jsonName, found, fieldsByType };
    switch (field.fieldKind) {
      case "scalar": {
        const value = message.get(field);
        const trimmed = inspectTrimmed(inspected, value, at);
        if (trimmed !== value) message.set(field, trimmed);
        inspectValue(field, trimmed, at);
        break;
      }
      case "enum":
        inspectValue(field, message.get(field), at);
        break;
      case "message":
        if (field.message === StructSchema) inspectObject(rawOf(message, field), at);
        else inspectMessage(message.get(field), at);
        break;
      case "list":
        inspectList(inspected, message.get(field), at);
        break;
      case "map":
        inspectMap(field, message.get(field), at);
    }
  }
}

function inspectList(inspected: InspectedField, list: ReflectList, at: Inspection): void {
  const { field, most, mostInner, hasOutcomes } = inspected;
  if (most !== undefined) shorten(list, most);
  if (mostInner !== undefined && innerItems(list) > mostInner) {
    const params = { max: mostInner };
    complain(at, { text: "LIST_MAX_INNER", params, reason: "REPEATED_MAX_INNER_ITEMS" });
  }
  for (let index = 0; index < list.size; index += 1) {
    // For items with outcomes, the search stops separately for each, so that a bad item does not hide later ones.
    const found = hasOutcomes ? [] : at.found;
    const inside = { ...at, found, path: `${at.path}[${index}]` };
    const value = list.get(index);
    const trimmed = inspectTrimmed(inspected, value, inside);
    if (trimmed !== value) list.set(index, trimmed);
    inspectItem(field, trimmed, inside);
    if (hasOutcomes) at.found.push(...found);
  }
}

function innerItems(list: ReflectList): number {
  let all = 0;
  for (const item of list)
    if (isReflectMessage(item))
      for (const field of item.fields) if (field.fieldKind === "list") all += item.get(field).size;
  return all;
}

function inspectMap(field: DescField, map: ReflectMap, at: Inspection): void {
  for (const [key, value] of map) {
    const inside = { ...at, path: `${at.path}[${JSON.stringify(String(key))}]` };
    inspectText(key, inside);
    inspectItem(field, value, inside);
  }
}

function inspectItem(field: DescField, value: unknown, at: Inspection): void {
  if (isReflectMessage(value)) inspectMessage(value, at);
  else inspectValue(field, value, at);
}

// A message keeps such a field as JSON. Reflection would turn it into a message of messages, at ten times the cost.
function rawOf({ message }: ReflectMessage, { localName, oneof }: DescField): JsonValue {
  const fields = message as unknown as Readonly<Record<string, JsonValue & { readonly value: JsonValue }>>;
  return (oneof ? fields[oneof.localName]?.value : fields[localName]) ?? null;
}

function inspectObject(value: JsonValue, at: Inspection): void {
  unsoundTexts(value, (text, keys) => {
    const path = keys.map((key) => `[${JSON.stringify(key)}]`).join("");
    inspectText(text, { ...at, path: `${at.path}${path}` });
  });
}

function inspectMessage(value: ReflectMessage, at: Inspection): void {
  if (value.desc === TimestampSchema) inspectTime(value.message as Timestamp, at);
  else inspect(value, at);
}

// The bounds of a Timestamp: 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z.
const firstSecond = -62_135_596_800n;
const lastSecond = 253_402_300_799n;

// PostgreSQL rounds to the nearest microsecond, possibly into the year 10000, which Timestamp cannot represent.
function inspectTime(time: Timestamp, at: Inspection): void {
  const { seconds, nanos } = time;
  const inRange = seconds >= firstSecond && seconds <= lastSecond && nanos >= 0 && nanos <= 999_999_999;
  if (inRange) time.nanos -= nanos % 1000;
  else complain(at, { text: "TIME_YEARS", reason: "TIME_YEARS" });
}

function inspectValue(field: DescField, value: unknown, at: Inspection): void {
  if (field.scalar === ScalarType.STRING) inspectText(value, at);
  if (field.enum?.open && typeof value === "number" && !field.enum.value[value]) {
    const names = field.enum.values.map(({ name }) => name).join(", ");
    complain(at, { text: "VALUE_ENUM", params: { names }, reason: "ENUM_DEFINED_ONLY" });
  }
}

function inspectText(value: unknown, at: Inspection): void {
  if (typeof value !== "string") return;
  // PostgreSQL rejects U+0000 (22021), and a lone surrogate would be stored as another character.
  if (value.includes("\0")) complain(at, { text: "TEXT_NULL_CHARACTER", reason: "STRING_NULL_CHARACTER" });
  if (!value.isWellFormed()) complain(at, { text: "TEXT_UNICODE", reason: "STRING_UNICODE" });
}

function complain({ path, found }: Inspection, wrong: Defect): void {
  if (found.length < maxViolations) found.push({ field: path, ...wrong });
}

/**
 * Trims a text if its field asks for it. The limit counts the text as sent; the field rule catches a text that is too long even when
 * trimmed.
 */
function inspectTrimmed(inspected: InspectedField, value: unknown, at: Inspection): unknown {
  const { trims, longest = Number.POSITIVE_INFINITY } = inspected;
  if (!trims || typeof value !== "string") return value;
  const trimmed = value.trim();
  if (isLonger(value, longest) && !isLonger(trimmed, longest))
    complain(at, { text: "TEXT_MAX", params: { max: longest }, reason: "STRING_MAX_LEN" });
  if (trimmed !== "" && !isVisible(trimmed)) complain(at, { text: "TEXT_INVISIBLE", reason: "STRING_INVISIBLE" });
  inspectCharacters(inspected, trimmed, at);
  return trimmed;
}

function inspectCharacters(inspected: InspectedField, text: string, at: Inspection): void {
  if (inspected.isOneLine && !isOneLine(text)) complain(at, notOneLine);
  if (inspected.isAllVisible && isVisible(text) && !isAllVisible(text)) complain(at, notAllVisible);
}

const notOneLine: Defect = { text: "TEXT_NOT_ONE_LINE", reason: "STRING_NOT_ONE_LINE" };
const notAllVisible: Defect = { text: "TEXT_NOT_ALL_VISIBLE", reason: "STRING_INVISIBLE" };

/** Whether a text has more than this many code points, which is what field rules count. */
function isLonger(text: string, characters: number): boolean {
  if (text.length <= characters) return false;
  return text.length > 2 * characters || [...text].length > characters;
}

/** Truncates a list to one item more than allowed, so that the rest is not checked. */
function shorten(list: ReflectList, most: number): void {
  if (list.size <= most + 1) return;
  const kept = [...list].slice(0, most + 1);
  list.clear();
  for (const item of kept) list.add(item);
}

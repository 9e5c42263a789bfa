import { type DescField, getOption } from "@bufbuild/protobuf";
import { isReflectList, isReflectMessage, type Path, reflect } from "@bufbuild/protobuf/reflect";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import type { Violation as Broken } from "@bufbuild/protovalidate";
import { FieldRulesSchema, field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { Violation } from "../errors.ts";

/** The problem of a field: a violation without its place. */
export type Defect = Omit<Violation, "field">;

/** The text of each rule that the contract uses, and the parameters taken from the field's rules. */
const texts = {
  "string.min_len": { text: "TEXT_MIN", params: { min: "min_len" } },
  "string.max_len": { text: "TEXT_MAX", params: { max: "max_len" } },
  "string.in": { text: "VALUE_ENUM", params: { names: "in" } },
  "string.email": { text: "TEXT_EMAIL", params: {} },
  "bytes.max_len": { text: "BYTES_MAX", params: { max: "max_len" } },
  "repeated.min_items": { text: "LIST_MIN", params: { min: "min_items" } },
  "repeated.max_items": { text: "LIST_MAX", params: { max: "max_items" } },
  "repeated.unique": { text: "LIST_UNIQUE", params: {} },
  "int32.gte_lte": { text: "NUMBER_BETWEEN", params: { min: "gte", max: "lte" } },
  "uint32.lte": { text: "NUMBER_MAX", params: { max: "lte" } },
  "uint32.gte_lte": { text: "NUMBER_BETWEEN", params: { min: "gte", max: "lte" } },
  "duration.gte": { text: "NUMBER_MIN", params: { min: "gte" } },
  "duration.gte_lte": { text: "NUMBER_BETWEEN", params: { min: "gte", max: "lte" } },
} as const satisfies Record<string, { readonly text: Violation["text"]; readonly params: Record<string, string> }>;

type RuleId = keyof typeof texts;

const hasOwnText = (ruleId: string): ruleId is RuleId => Object.hasOwn(texts, ruleId);

/** The requirements of the contract's patterns, in words. */
const patterns: Readonly<Record<string, Pick<Defect, "text" | "params">>> = {
  "^[^\\s\\p{C}]*$": { text: "TEXT_NO_BLANKS" },
  "^([a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?)?$": { text: "TEXT_LANGUAGE" },
  "^[!-~]{1,200}$": { text: "TEXT_KEY", params: { max: "200" } },
  "^[A-Za-z0-9_-]{1,64}$": { text: "TEXT_ID", params: { max: "64" } },
  "^[A-Za-z0-9_.:/-]*$": { text: "TEXT_METADATA_KEY" },
  "^[A-Za-z0-9_-]*$": { text: "TEXT_BASE64URL" },
  "^[A-Za-z2-7]{16,112}={0,6}$": { text: "TEXT_BASE32", params: { min: "16", max: "112" } },
  "^[0-9A-Fa-f]{64}$": { text: "TEXT_HEX", params: { count: "64" } },
  "^(#[0-9A-Fa-f]{6})?$": { text: "TEXT_COLOR" },
};

/** Whether a rule of the contract has a text; that of a pattern depends on its value. */
export const hasText = (ruleId: string, value: unknown): boolean =>
  ruleId === "string.pattern" ? Object.hasOwn(patterns, String(value)) : hasOwnText(ruleId);

type Value = (rule: string) => unknown;

// A request can break one rule a thousand times, and a field's rules are slow to read from the contract.
const known = new WeakMap<DescField, Map<string, Defect>>();

/** Describes what a violated protovalidate rule requires. */
export function defectOf({ field, rule, ruleId }: Broken): Defect {
  const at = field.findLast((part) => part.kind === "field");
  if (!at) throw new TypeError(`the rule ${ruleId} is not of a field`);
  const own = known.get(at) ?? new Map<string, Defect>();
  const defect = own.get(ruleId) ?? defectBy(ruleId, valuesOf(at, rule));
  known.set(at, own.set(ruleId, defect));
  return defect;
}

function defectBy(ruleId: string, value: Value): Defect {
  if (asksForAny(ruleId, value)) return { text: "FIELD_REQUIRED", reason: "REQUIRED" };
  return { ...wordsOf(ruleId, value), reason: ruleId.toUpperCase().replaceAll(".", "_") };
}

function wordsOf(ruleId: string, value: Value): Pick<Defect, "text" | "params"> {
  const pattern = ruleId === "string.pattern" ? patterns[String(value("pattern"))] : undefined;
  if (pattern) return pattern;
  if (!hasOwnText(ruleId)) throw new TypeError(`no text for the rule ${ruleId}`);
  const { text, params } = texts[ruleId];
  const filled = Object.entries(params).map(([name, rule]) => [name, shown(value(rule))]);
  return { text, params: Object.fromEntries(filled) };
}

/** Absent texts and lists are empty: clients that send none are told to send one, not how long it must be. */
function asksForAny(ruleId: string, value: Value): boolean {
  if (ruleId === "string.min_len") return value("min_len") === 1n;
  if (ruleId === "repeated.min_items") return value("min_items") === 1n;
  return ruleId === "required" || ruleId.endsWith("_empty");
}

/** Finds the values of a rule and its companions: `gte_lte` is one rule with two values, and names only the first. */
function valuesOf(field: DescField, rule: Path): Value {
  let rules = reflect(FieldRulesSchema, getOption(field, fieldRules));
  for (const part of rule) {
    const inner = part.kind === "field" ? rules.get(part) : undefined;
    if (isReflectMessage(inner) && inner.desc.typeName !== DurationSchema.typeName) rules = inner;
  }
  return (name) => {
    const one = rules.fields.find((each) => each.name === name);
    return one && rules.get(one);
  };
}

function shown(value: unknown): string {
  if (isReflectList(value)) return [...value].join(", ");
  if (isReflectMessage(value, DurationSchema)) return `${(value.message as Duration).seconds}s`;
  return String(value);
}

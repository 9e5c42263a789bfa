import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { type FieldRules, field as fieldRules, Ignore } from "../../../../gen/buf/validate/validate_pb.ts";
import { max_inner_items } from "../../../../gen/postern/v1/options_pb.ts";

/** How many items a list may have by its rules; infinite when they do not say. */
export function mostItems(field: DescField): number {
  const type = rulesOf(field)?.type;
  return type?.case === "repeated" && type.value.maxItems > 0n ? Number(type.value.maxItems) : Number.POSITIVE_INFINITY;
}

/** How many items the lists inside of a list may have together; infinite when its options do not say. */
export function mostInnerItems(field: DescField): number {
  if (!hasOption(field, max_inner_items)) return Number.POSITIVE_INFINITY;
  const isDeep = field.message?.fields.some(({ fieldKind, message }) => fieldKind === "list" && message) ?? true;
  if (isDeep) throw new Error(`${field} has max_inner_items, which counts the items of lists of single values`);
  return getOption(field, max_inner_items);
}

/** The longest texts that the rules of a field, or of the items of a list, allow: how many characters, or which ones. */
export function longestTexts(field: DescField): number | readonly string[] {
  const own = rulesOf(field);
  const rules = own?.type.case === "repeated" ? own.type.value.items : own;
  if (rules?.type.case !== "string") return Number.POSITIVE_INFINITY;
  const { maxLen, in: allowed } = rules.type.value;
  if (allowed.length > 0) return allowed;
  return maxLen > 0n ? Number(maxLen) : Number.POSITIVE_INFINITY;
}

function rulesOf(field: DescField): FieldRules | undefined {
  const rules = hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined;
  return rules?.ignore === Ignore.ALWAYS ? undefined : rules;
}

import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { type FieldRules, field as fieldRules, Ignore } from "../../gen/buf/validate/validate_pb.ts";

/** What the contract says of how large a field may become; infinite where it does not say. */
export type FieldBounds = {
  /** How many items a list may have. */
  readonly items: (field: DescField) => number;
  /** How many items the lists inside of a list may have together. */
  readonly innerItems: (field: DescField) => number;
  /** The longest texts of a field or of the items of a list: how many characters, or which ones. */
  readonly texts: (field: DescField) => number | readonly string[];
};

/** The bounds that the rules of buf.validate set; they have none for inner lists together. */
export const validateBounds: FieldBounds = { items, innerItems: () => Number.POSITIVE_INFINITY, texts };

function items(field: DescField): number {
  const type = rulesOf(field)?.type;
  return type?.case === "repeated" && type.value.maxItems > 0n ? Number(type.value.maxItems) : Number.POSITIVE_INFINITY;
}

function texts(field: DescField): number | readonly string[] {
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

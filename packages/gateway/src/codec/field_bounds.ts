import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { type FieldRules, field as fieldRules, Ignore } from "../../gen/buf/validate/validate_pb.ts";

/** The bounds of fields by their contract; infinite if it sets none. */
export type FieldBounds = {
  /** The maximum number of items of a list. */
  readonly items: (field: DescField) => number;
  /** The maximum number of items of all lists inside a list together. */
  readonly innerItems: (field: DescField) => number;
  /** The maximum number of values inside an open object (google.protobuf.Struct). */
  readonly openValues: (field: DescField) => number;
  /** The maximum length of a text field or of a list's items in characters, or the allowed texts. */
  readonly texts: (field: DescField) => number | readonly string[];
};

/** The maximum number of values of all open objects of one message together. */
export const maxOpenValues = 10_000;

/** Bounds by the rules of buf.validate, which cannot limit inner lists as a whole. */
export const validateBounds: FieldBounds = {
  items,
  innerItems: () => Number.POSITIVE_INFINITY,
  openValues: () => maxOpenValues,
  texts,
};

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

// They are slow to read, and asked for with each field of each rpc.
const known = new WeakMap<DescField, FieldRules | null>();

function rulesOf(field: DescField): FieldRules | undefined {
  let rules = known.get(field);
  if (rules === undefined) {
    rules = hasOption(field, fieldRules) ? getOption(field, fieldRules) : null;
    known.set(field, rules);
  }
  return rules === null || rules.ignore === Ignore.ALWAYS ? undefined : rules;
}

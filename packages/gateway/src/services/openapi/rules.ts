import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type FieldRules, field as fieldOption, Ignore } from "../../../gen/buf/validate/validate_pb.ts";
import type { Schema } from "./document.ts";

/** The rules of a field; undefined without any. */
export function rulesOf(field: DescField): FieldRules | undefined {
  const rules = hasOption(field, fieldOption) ? getOption(field, fieldOption) : undefined;
  return rules && rules.ignore === Ignore.UNSPECIFIED ? rules : undefined;
}

/** The rules of a field as JSON Schema, as far as it can express them; of a list, those of the list itself. */
export function keywords({ type }: FieldRules): Schema {
  switch (type.case) {
    case "string": {
      const { minLen, maxLen, pattern, in: allowed, email } = type.value;
      return {
        ...(minLen > 0n && { minLength: Number(minLen) }),
        ...(maxLen > 0n && { maxLength: Number(maxLen) }),
        ...(pattern && isPortable(pattern) && { pattern }),
        ...(email && { format: "email" }),
        ...(allowed.length > 0 && { enum: allowed }),
      };
    }
    case "int32":
    case "uint32":
      return bounds(type.value);
    case "repeated": {
      const { minItems, maxItems } = type.value;
      return {
        ...(minItems > 0n && { minItems: Number(minItems) }),
        ...(maxItems > 0n && { maxItems: Number(maxItems) }),
      };
    }
    case "enum":
    case "duration":
    case undefined:
      return {};
  }
}

// Python has no classes of Unicode, and JavaScript without the flag u takes them for letters: clients would refuse what the server takes.
const isPortable = (pattern: string) => !/\\p/i.test(pattern);

// Fields of proto2 have defaults: only an own property is a declared bound.
function bounds(rules: { gte: number; lte: number }): Schema {
  return {
    ...(Object.hasOwn(rules, "gte") && { minimum: rules.gte }),
    ...(Object.hasOwn(rules, "lte") && { maximum: rules.lte }),
  };
}

/** The rules of a list's items. */
export const itemRules = ({ type }: FieldRules): FieldRules | undefined =>
  type.case === "repeated" ? type.value.items : undefined;

/** Whether a request without the field breaks a rule. */
export function isNeeded(rules: FieldRules): boolean {
  if (rules.required) return true;
  const { minLength = 0, minItems = 0, minimum = 0, enum: allowed, pattern, format } = keywords(rules);
  const refusesEmpty = pattern !== undefined && !matchesEmpty(pattern);
  const atLeast = Math.max(minLength, minItems, minimum);
  return atLeast > 0 || refusesEmpty || format === "email" || (allowed !== undefined && !allowed.includes(""));
}

// Rules are in RE2, which has syntax that JavaScript lacks.
function matchesEmpty(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").test("");
  } catch {
    return true;
  }
}

/** Sentences for rules that JSON Schema cannot express. */
export function remarks(field: DescField): string[] {
  const rules = rulesOf(field);
  const { gte, lte } = rules?.type.case === "duration" ? rules.type.value : {};
  const { unique } = rules?.type.case === "repeated" ? rules.type.value : {};
  return [
    ...(gte ? [`At least ${seconds(gte)}.`] : []),
    ...(lte ? [`At most ${seconds(lte)}.`] : []),
    // Not uniqueItems: generators make a set of it, which is awkward to call with, and wrong for values of an enumeration.
    ...(unique ? ["All different."] : []),
  ];
}

const seconds = ({ seconds: whole, nanos }: Duration) => `${Number(whole) + nanos / 1e9}s`;

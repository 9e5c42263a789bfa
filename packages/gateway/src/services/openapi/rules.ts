import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import {
  type FieldRules,
  field as fieldOption,
  Ignore,
  type StringRules,
} from "../../../gen/buf/validate/validate_pb.ts";
import type { Schema } from "./document.ts";

/** The rules of a field; undefined if it has none. */
export function rulesOf(field: DescField): FieldRules | undefined {
  const rules = hasOption(field, fieldOption) ? getOption(field, fieldOption) : undefined;
  return rules && rules.ignore === Ignore.UNSPECIFIED ? rules : undefined;
}

/** A field's rules as JSON Schema, as far as it can express them; for a list, those of the list itself. */
export function keywords({ type }: FieldRules): Schema {
  switch (type.case) {
    case "string":
      return textKeywords(type.value);
    case "int32":
    case "uint32":
    case "sint32":
    case "fixed32":
    case "sfixed32":
    case "float":
    case "double":
      return bounds(type.value);
    case "repeated": {
      const { minItems, maxItems } = type.value;
      return {
        ...(minItems > 0n && { minItems: Number(minItems) }),
        ...(maxItems > 0n && { maxItems: Number(maxItems) }),
      };
    }
    // In JSON these are texts, lists, objects or booleans, for whose rules JSON Schema has no keyword.
    case "int64":
    case "uint64":
    case "sint64":
    case "fixed64":
    case "sfixed64":
    case "bool":
    case "bytes":
    case "enum":
    case "map":
    case "any":
    case "duration":
    case "fieldMask":
    case "timestamp":
    case undefined:
      return {};
  }
}

// Python has no Unicode classes, and JavaScript without the u flag reads them as letters: clients would reject what the server accepts.
const isPortable = (pattern: string) => !/\\p/i.test(pattern);

function textKeywords({ minLen, maxLen, pattern, in: allowed, wellKnown }: StringRules): Schema {
  const format = formats[wellKnown.case ?? ""];
  return {
    ...(minLen > 0n && { minLength: Number(minLen) }),
    ...(maxLen > 0n && { maxLength: Number(maxLen) }),
    ...(pattern && isPortable(pattern) && { pattern }),
    ...(format && wellKnown.value === true && { format }),
    ...(allowed.length > 0 && { enum: allowed }),
  };
}

// The JSON Schema formats that are equivalent to a rule.
const formats: Readonly<Record<string, string>> = {
  email: "email",
  hostname: "hostname",
  ipv4: "ipv4",
  ipv6: "ipv6",
  uri: "uri",
  uuid: "uuid",
};

type Bound<Inclusive, Exclusive, Value> =
  | { readonly case: Inclusive | Exclusive; readonly value: Value }
  | { readonly case: undefined; readonly value?: undefined };

type Range<Value> = {
  readonly greaterThan: Bound<"gte", "gt", Value>;
  readonly lessThan: Bound<"lte", "lt", Value>;
};

function bounds({ greaterThan: above, lessThan: below }: Range<number>): Schema {
  // If the lower bound exceeds the upper one, the values between them are excluded.
  if (above.case && below.case && above.value > below.value) return {};
  return {
    ...(above.case && { [above.case === "gte" ? "minimum" : "exclusiveMinimum"]: above.value }),
    ...(below.case && { [below.case === "lte" ? "maximum" : "exclusiveMaximum"]: below.value }),
  };
}

/** The rules of a list's items. */
export const itemRules = ({ type }: FieldRules): FieldRules | undefined =>
  type.case === "repeated" ? type.value.items : undefined;

/** Whether a request without the field breaks a rule. */
export function isNeeded(rules: FieldRules): boolean {
  if (rules.required) return true;
  const { minLength = 0, minItems = 0, minimum = 0, enum: allowed, pattern, format } = keywords(rules);
  const { exclusiveMinimum = -1 } = keywords(rules);
  const refusesEmpty = pattern !== undefined && !matchesEmpty(pattern);
  const refusesZero = minLength > 0 || minItems > 0 || minimum > 0 || exclusiveMinimum >= 0;
  return refusesZero || refusesEmpty || format === "email" || (allowed !== undefined && !allowed.includes(""));
}

// Rules use RE2, which has syntax that JavaScript lacks.
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
  const { greaterThan, lessThan } = rules?.type.case === "duration" ? rules.type.value : {};
  const { unique } = rules?.type.case === "repeated" ? rules.type.value : {};
  return [
    ...(greaterThan?.value
      ? [`${greaterThan.case === "gte" ? "At least" : "More than"} ${seconds(greaterThan.value)}.`]
      : []),
    ...(lessThan?.value ? [`${lessThan.case === "lte" ? "At most" : "Less than"} ${seconds(lessThan.value)}.`] : []),
    // Not uniqueItems: generators turn it into a set, which is awkward to use, and wrong for enumeration values.
    ...(unique ? ["All different."] : []),
  ];
}

const seconds = ({ seconds: whole, nanos }: Duration) => `${Number(whole) + nanos / 1e9}s`;

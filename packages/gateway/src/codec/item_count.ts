import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { GatewayError, invalid } from "../errors/gateway_error.ts";
import { unreadable } from "../errors/problem.ts";
import { maxViolations, type Violation } from "../errors/violation.ts";
import { type FieldBounds, maxOpenValues, validateBounds } from "./field_bounds.ts";
import { isWellKnown } from "./json/leaf.ts";
import { maxDepth } from "./json/syntax.ts";
import { isObject } from "./json/text.ts";
import { largestMessage } from "./largest_message.ts";
import { openValuesInBinary, openValuesInJson } from "./open_values.ts";
import { wireTypeOf } from "./wire_type.ts";

/** Refuses messages with far more values than the rules of their type allow, before a decoder creates objects for them. */
export type ItemCount = {
  readonly binary: (bytes: Uint8Array) => void;
  readonly json: (value: JsonValue) => void;
};

/**
 * Makes the counter of a message type. A message with just a few values too many is left to the rules, which name all its violations; for a
 * larger one, only the lists that are too long are named.
 */
export function itemCount(type: DescMessage, bounds: FieldBounds = validateBounds): ItemCount {
  const max = largestMessage(type, bounds).values + spare;
  if (!Number.isFinite(max)) return { binary: () => {}, json: () => {} };
  const plans = new Map<DescMessage, Plan>();
  const plan = planOf(type, { plans, bounds });
  // Each value takes at least a byte; so does each level of an open object.
  const least = [...plans.keys()].some(isOpen) ? maxDepth : max;
  return {
    binary(bytes) {
      if (bytes.length <= least) return;
      const count: Count = { left: max, openLeft: maxOpenValues, broken: [], refusesAny: true };
      countBinary(count, new BinaryReader(bytes), { plan, at: undefined, end: bytes.length, depth: 0 });
    },
    json(value) {
      const count: Count = { left: max, openLeft: maxOpenValues, broken: [], refusesAny: false };
      if (isObject(value)) countJson(count, value, { plan, at: undefined });
    },
  };
}

/** The number of excess values that are left to the rules. */
const spare = 1000;

/** A field with its bounds, which are slow to read from the contract. */
type Part = {
  readonly field: DescField;
  readonly max: number;
  readonly maxInner: number;
  /** The maximum number of values of an open object. */
  readonly maxOpen: number;
  /** The wire type of one value. */
  readonly wire: WireType;
  /** The plan of the field's own message type, if it is a message. */
  readonly plan: Plan | undefined;
};

type Plan = { readonly byNumber: ReadonlyMap<number, Part>; readonly byName: ReadonlyMap<string, Part> };

type PlanOptions = { readonly plans: Map<DescMessage, Plan>; readonly bounds: FieldBounds };

function planOf(type: DescMessage, options: PlanOptions): Plan {
  const { plans, bounds } = options;
  const existing = plans.get(type);
  if (existing) return existing;
  const byNumber = new Map<number, Part>();
  const byName = new Map<string, Part>();
  const plan = { byNumber, byName };
  plans.set(type, plan);
  for (const field of type.fields) {
    const inner = field.fieldKind !== "map" && field.message ? planOf(field.message, options) : undefined;
    const max = field.fieldKind === "list" ? bounds.items(field) : Number.POSITIVE_INFINITY;
    const part: Part = {
      field,
      max,
      maxInner: bounds.innerItems(field),
      maxOpen: bounds.openValues(field),
      wire: wireOf(field),
      plan: inner,
    };
    byNumber.set(field.number, part);
    for (const name of [field.jsonName, field.name]) byName.set(name, part);
  }
  return plan;
}

const wireOf = ({ fieldKind, scalar, message }: DescField): WireType =>
  fieldKind === "map" || message ? WireType.LengthDelimited : wireTypeOf(scalar ?? ScalarType.INT32);

const isOpen = ({ typeName }: DescMessage) => typeName === "google.protobuf.Struct";

/** The state of a count: the number of further values that the message may have, and the lists that are too long. */
type Count = {
  left: number;
  /** The number of further values that the message's open objects may have. */
  openLeft: number;
  readonly broken: Violation[];
  /** Whether to refuse a message with too many values even if no list is too long. */
  readonly refusesAny: boolean;
};

/** An occurrence of a field: the list item that contains it, and the numbers of its items and of its inner lists' items. */
type Place = { readonly part: Part; readonly at: At | undefined; items: number; innerItems: number };
type At = { readonly place: Place; readonly index: number | undefined };

type Inside = { readonly plan: Plan; readonly at: At | undefined };

/** Reads as the decoder does, using the declared type of a known field whatever the wire type in the tag. */
function countBinary(
  count: Count,
  reader: BinaryReader,
  inside: Inside & { readonly end: number; readonly depth: number },
): void {
  const { plan, at, end, depth } = inside;
  if (depth > maxDepth) throw unreadable("BODY_TOO_DEEP", { max: maxDepth });
  const places = new Map<Part, Place>();
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    const part = plan.byNumber.get(number);
    if (!part) {
      countOne(count);
      reader.skip(wire, number);
      continue;
    }
    const place = places.get(part) ?? { part, at, items: 0, innerItems: 0 };
    places.set(part, place);
    const isPacked =
      part.field.fieldKind === "list" && part.wire !== WireType.LengthDelimited && wire === WireType.LengthDelimited;
    // A record of packed items counts as a value itself, because it may be empty.
    if (isPacked) countOne(count);
    const stop = isPacked ? reader.uint32() + reader.pos : reader.pos + 1;
    while (reader.pos < stop) {
      const index = countValue(count, place);
      if (!part.plan) reader.skip(part.wire, number);
      else {
        const end = reader.uint32() + reader.pos;
        const within = { plan: part.plan, at: { place, index }, end, depth: depth + 1 };
        if (isOpenPart(part)) countOpen(count, place, openValuesInBinary(reader, end, openRoom(count, part)));
        else countBinary(count, reader, within);
      }
    }
  }
}

function countJson(count: Count, value: JsonObject, { plan, at }: Inside): void {
  for (const key in value) {
    const part = plan.byName.get(key);
    const inner = value[key];
    if (!part || inner === undefined) continue;
    const place = { part, at, items: 0, innerItems: 0 };
    if (part.field.fieldKind === "list" && Array.isArray(inner))
      for (const item of inner) countJsonValue(count, item, place);
    else countJsonValue(count, inner, place);
  }
}

function countJsonValue(count: Count, value: JsonValue, place: Place): void {
  const index = countValue(count, place);
  const { plan, field } = place.part;
  if (isOpenPart(place.part)) countOpen(count, place, openValuesInJson(value, openRoom(count, place.part)));
  else if (plan && field.message && !isWellKnown(field.message) && isObject(value))
    countJson(count, value, { plan, at: { place, index } });
}

/** Counts one more value of a field; returns its index in a list. */
function countValue(count: Count, place: Place): number | undefined {
  const { part, at } = place;
  countOne(count);
  if (part.field.fieldKind !== "list") return undefined;
  place.items += 1;
  if (place.items === part.max + 1) addViolation(count, place, tooMany(part.max));
  const outer = at?.place;
  if (outer) {
    outer.innerItems += 1;
    if (outer.innerItems === outer.part.maxInner + 1) addViolation(count, outer, tooManyInside(outer.part.maxInner));
  }
  return place.items - 1;
}

const isOpenPart = ({ field }: Part) => field.fieldKind === "message" && isOpen(field.message);

const openRoom = ({ openLeft }: Count, { maxOpen }: Part) => Math.min(openLeft, maxOpen);

/** Counts the values of an open object, and names the object that exceeds the maximum of the message. */
function countOpen(count: Count, place: Place, values: number): void {
  const { maxOpen } = place.part;
  count.openLeft -= values;
  if (values > maxOpen) throw invalid([...count.broken, { field: pathOf(place), ...tooManyIn(maxOpen) }]);
  if (count.openLeft < 0) throw invalid([...count.broken, { field: pathOf(place), ...tooManyOpen }]);
}

function countOne(count: Count): void {
  count.left -= 1;
  if (count.left >= 0) return;
  if (count.broken.length > 0) throw invalid(count.broken);
  if (count.refusesAny) throw new GatewayError("MALFORMED_BODY");
}

type Defect = Omit<Violation, "field">;

// The reasons of the rules, which report the same for a message that is only slightly too large.
const tooMany = (max: number): Defect => ({ text: "LIST_MAX", params: { max }, reason: "REPEATED_MAX_ITEMS" });
const tooManyInside = (max: number): Defect => ({
  text: "LIST_MAX_INNER",
  params: { max },
  reason: "REPEATED_MAX_INNER_ITEMS",
});
const tooManyIn = (max: number): Defect => ({ text: "OPEN_VALUES_MAX", params: { max }, reason: "STRUCT_MAX_VALUES" });
const tooManyOpen: Defect = {
  text: "OPEN_OBJECT_MAX",
  params: { max: maxOpenValues },
  reason: "STRUCT_MAX_VALUES",
};

function addViolation({ broken }: Count, place: Place, defect: Defect): void {
  if (broken.length < maxViolations) broken.push({ field: pathOf(place), ...defect });
}

function pathOf({ part, at }: Place): string {
  if (!at) return part.field.jsonName;
  const index = at.index === undefined ? "" : `[${at.index}]`;
  return `${pathOf(at.place)}${index}.${part.field.jsonName}`;
}

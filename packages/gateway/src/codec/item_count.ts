import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { GatewayError, invalid } from "../errors/gateway_error.ts";
import { mostViolations, type Violation } from "../errors/violation.ts";
import { type FieldBounds, validateBounds } from "../limits/field_bounds.ts";
import { largestMessage } from "../limits/largest_message.ts";
import { isWellKnown } from "./json/leaf.ts";
import { deepest } from "./json/syntax.ts";
import { isObject } from "./json/text.ts";

/** Refuses messages of one type that have far more values than its rules allow, before a decoder makes objects of them. */
export type ItemCount = {
  readonly binary: (bytes: Uint8Array) => void;
  readonly json: (value: JsonValue) => void;
};

/**
 * Makes the count of a type of message. A message with a few more values than the rules allow is left to the rules, which name
 * everything that is wrong with it; of a larger one, only the lists that are too long are named.
 */
export function itemCount(type: DescMessage, bounds: FieldBounds = validateBounds): ItemCount {
  const most = largestMessage(type, bounds).values + spare;
  if (!Number.isFinite(most)) return { binary: () => {}, json: () => {} };
  const plan = planOf(type, { known: new Map(), bounds });
  return {
    binary(bytes) {
      // Each value takes a byte or more.
      if (bytes.length <= most) return;
      const count: Count = { left: most, broken: [], refusesAny: true };
      countBinary(count, new BinaryReader(bytes), { plan, at: undefined, end: bytes.length, depth: 0 });
    },
    json(value) {
      const count: Count = { left: most, broken: [], refusesAny: false };
      if (isObject(value)) countJson(count, value, { plan, at: undefined });
    },
  };
}

/** How many values more than the rules allow are let through. */
const spare = 1000;

/** A field, with its bounds, which are slow to read. */
type Part = {
  readonly field: DescField;
  readonly most: number;
  readonly mostInner: number;
  /** How one value of it is written. */
  readonly wire: WireType;
  /** The fields inside, when it is a message. */
  readonly plan: Plan | undefined;
};

type Plan = { readonly byNumber: ReadonlyMap<number, Part>; readonly byName: ReadonlyMap<string, Part> };

type Planning = { readonly known: Map<DescMessage, Plan>; readonly bounds: FieldBounds };

function planOf(type: DescMessage, planning: Planning): Plan {
  const { known, bounds } = planning;
  const before = known.get(type);
  if (before) return before;
  const byNumber = new Map<number, Part>();
  const byName = new Map<string, Part>();
  const plan = { byNumber, byName };
  known.set(type, plan);
  for (const field of type.fields) {
    const inner = field.fieldKind !== "map" && field.message ? planOf(field.message, planning) : undefined;
    const most = field.fieldKind === "list" ? bounds.items(field) : Number.POSITIVE_INFINITY;
    const part: Part = { field, most, mostInner: bounds.innerItems(field), wire: wireOf(field), plan: inner };
    byNumber.set(field.number, part);
    for (const name of [field.jsonName, field.name]) byName.set(name, part);
  }
  return plan;
}

function wireOf({ fieldKind, scalar, message }: DescField): WireType {
  if (fieldKind === "map" || message) return WireType.LengthDelimited;
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

/** What is counted in one message: how many values it may have yet, and which lists are too long. */
type Count = {
  left: number;
  readonly broken: Violation[];
  /** Whether more values than there may be are refused also when no list is too long. */
  readonly refusesAny: boolean;
};

/** A field in its place: which item of which list it is in, and how many items it has, with those of its inner lists. */
type Place = { readonly part: Part; readonly at: At | undefined; items: number; innerItems: number };
type At = { readonly place: Place; readonly index: number | undefined };

type Inside = { readonly plan: Plan; readonly at: At | undefined };

/** Follows the wire as the decoder does, which goes by the type of a field that it knows, whatever the tag says. */
function countBinary(
  count: Count,
  reader: BinaryReader,
  inside: Inside & { readonly end: number; readonly depth: number },
): void {
  const { plan, at, end, depth } = inside;
  if (depth > deepest) throw new GatewayError("MALFORMED_BODY");
  const places = new Map<Part, Place>();
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    const part = plan.byNumber.get(number);
    if (!part) {
      spend(count);
      reader.skip(wire, number);
      continue;
    }
    const place = places.get(part) ?? { part, at, items: 0, innerItems: 0 };
    places.set(part, place);
    const isPacked =
      part.field.fieldKind === "list" && part.wire !== WireType.LengthDelimited && wire === WireType.LengthDelimited;
    // Packed items come in records of their own, which may be empty.
    if (isPacked) spend(count);
    const stop = isPacked ? reader.uint32() + reader.pos : reader.pos + 1;
    while (reader.pos < stop) {
      const index = note(count, place);
      if (!part.plan) reader.skip(part.wire, number);
      else {
        const length = reader.uint32();
        countBinary(count, reader, {
          plan: part.plan,
          at: { place, index },
          end: reader.pos + length,
          depth: depth + 1,
        });
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
  const index = note(count, place);
  const { plan, field } = place.part;
  if (plan && field.message && !isWellKnown(field.message) && isObject(value))
    countJson(count, value, { plan, at: { place, index } });
}

/** Notes one more value of a field; answers its index in a list. */
function note(count: Count, place: Place): number | undefined {
  const { part, at } = place;
  spend(count);
  if (part.field.fieldKind !== "list") return undefined;
  place.items += 1;
  if (place.items === part.most + 1) complain(count, place, tooMany(part.most));
  const outer = at?.place;
  if (outer) {
    outer.innerItems += 1;
    if (outer.innerItems === outer.part.mostInner + 1) complain(count, outer, tooManyInside(outer.part.mostInner));
  }
  return place.items - 1;
}

function spend(count: Count): void {
  count.left -= 1;
  if (count.left >= 0) return;
  if (count.broken.length > 0) throw invalid(count.broken);
  if (count.refusesAny) throw new GatewayError("MALFORMED_BODY");
}

type Wrong = Omit<Violation, "field">;

// In the words of the rules, which find the same in a message that is not much too large.
const tooMany = (most: number): Wrong => ({
  description: `must contain no more than ${most} item(s)`,
  reason: "REPEATED_MAX_ITEMS",
});
const tooManyInside = (most: number): Wrong => ({
  description: `must contain no more than ${most} items in its inner lists together`,
  reason: "REPEATED_MAX_INNER_ITEMS",
});

function complain({ broken }: Count, place: Place, wrong: Wrong): void {
  if (broken.length < mostViolations) broken.push({ field: pathOf(place), ...wrong });
}

function pathOf({ part, at }: Place): string {
  if (!at) return part.field.jsonName;
  const index = at.index === undefined ? "" : `[${at.index}]`;
  return `${pathOf(at.place)}${index}.${part.field.jsonName}`;
}

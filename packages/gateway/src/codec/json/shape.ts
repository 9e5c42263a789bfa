import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { isWellKnown } from "./leaf.ts";

/** The keys that the objects of a JSON value may have by the contract. */
export type Shape =
  | { readonly kind: "message"; readonly message: DescMessage }
  | { readonly kind: "list" | "map"; readonly inside: Shape }
  /** Any JSON. */
  | { readonly kind: "open" }
  /** A single value, without known keys. */
  | { readonly kind: "value" };

const openTypes = [
  "google.protobuf.Struct",
  "google.protobuf.Value",
  "google.protobuf.ListValue",
  "google.protobuf.Any",
];

/** The shape of a message. */
export function shapeOfMessage(message: DescMessage): Shape {
  if (!isWellKnown(message)) return { kind: "message", message };
  return { kind: openTypes.includes(message.typeName) ? "open" : "value" };
}

/** The shape of a field. */
export function shapeOfField({ fieldKind, message }: DescField): Shape {
  const inside: Shape = message ? shapeOfMessage(message) : { kind: "value" };
  return fieldKind === "list" || fieldKind === "map" ? { kind: fieldKind, inside } : inside;
}

/** A field and its shape. */
export type ShapedField = { readonly field: DescField; readonly shape: Shape };

const shapedFields = new WeakMap<DescMessage, ReadonlyMap<string, ShapedField>>();

/** The fields of a message by name, in both spellings. */
export function fieldsByName(message: DescMessage): ReadonlyMap<string, ShapedField> {
  const cached = shapedFields.get(message);
  if (cached) return cached;
  const fields = new Map(
    message.fields.flatMap((field) => {
      const shaped = { field, shape: shapeOfField(field) };
      return [[field.name, shaped] as const, [field.jsonName, shaped] as const];
    }),
  );
  shapedFields.set(message, fields);
  return fields;
}

/** The shape of the value at a key of an object; undefined for an unknown key. */
export function shapeUnder(shape: Shape, key: string): Shape | undefined {
  switch (shape.kind) {
    case "message":
      return fieldsByName(shape.message).get(key)?.shape;
    case "map":
      return shape.inside;
    case "open":
      return shape;
    case "list":
    case "value":
      return undefined;
  }
}

/** The shape of the items of a list; undefined if the contract has no list here. */
export function shapeOfItems(shape: Shape): Shape | undefined {
  if (shape.kind === "list") return shape.inside;
  return shape.kind === "open" ? shape : undefined;
}

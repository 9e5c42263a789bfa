import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { maxDepth } from "./json/syntax.ts";

/** The place where bytes stop being a message. */
export type BinaryFault = {
  readonly byte: number;
  /** The path of the unreadable field; undefined if no known field begins there. */
  readonly field: string | undefined;
};

/** Finds where bytes stop being a message of the type; undefined if the walk finds no fault. */
export function binaryFault(type: DescMessage, bytes: Uint8Array): BinaryFault | undefined {
  const state: Walk = { reader: new BinaryReader(bytes), field: undefined, byte: 0 };
  try {
    readMessage(state, type, { path: "", end: bytes.length, depth: 0 });
    return undefined;
  } catch {
    return { byte: state.byte, field: state.field };
  }
}

/** The state of a walk: the field being read, and the byte at which it begins. */
type Walk = { readonly reader: BinaryReader; field: string | undefined; byte: number };
type Inside = { readonly path: string; readonly end: number; readonly depth: number };

function readMessage(walk: Walk, type: DescMessage, { path, end, depth }: Inside): void {
  if (depth > maxDepth) throw new Error("too deep");
  const { reader } = walk;
  const byNumber = new Map(type.fields.map((field) => [field.number, field]));
  while (reader.pos < end) {
    walk.byte = reader.pos;
    walk.field = path === "" ? undefined : path;
    const [number, wire] = reader.tag();
    const field = byNumber.get(number);
    if (field) walk.field = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    if (wire !== WireType.LengthDelimited || !field) reader.skip(wire, number);
    else readDelimited(walk, field, depth);
    if (reader.pos > end) throw new Error("beyond its end");
  }
}

function readDelimited(walk: Walk, field: DescField, depth: number): void {
  const { reader } = walk;
  if (field.message && field.fieldKind !== "map") {
    const length = reader.uint32();
    readMessage(walk, field.message, { path: walk.field ?? "", end: reader.pos + length, depth: depth + 1 });
  } else if (field.scalar === ScalarType.STRING && field.fieldKind !== "map") reader.string(true);
  else reader.bytes();
}

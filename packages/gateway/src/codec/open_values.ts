import type { JsonValue } from "@bufbuild/protobuf";
import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { unreadable } from "../errors/problem.ts";
import { maxDepth } from "./json/syntax.ts";

/** Counts the values inside an open object in JSON, stopping beyond `most`. */
export function openValuesInJson(value: JsonValue, most: number): number {
  const waiting = [value];
  let count = 0;
  for (let one = waiting.pop(); one !== undefined && count <= most; one = waiting.pop()) {
    if (typeof one !== "object" || one === null) continue;
    for (const inner of Object.values(one)) {
      count += 1;
      waiting.push(inner);
    }
  }
  return count;
}

type Kind = "object" | "entry" | "value" | "list";

// The messages of google/protobuf/struct.proto, with the fields that contain another of them.
const inside: Readonly<Record<Kind, ReadonlyMap<number, Kind>>> = {
  object: new Map([[1, "entry"]]),
  entry: new Map([[2, "value"]]),
  value: new Map([
    [5, "object"],
    [6, "list"],
  ]),
  list: new Map([[1, "value"]]),
};

type Stretch = { readonly kind: Kind; readonly end: number; readonly depth: number };

/** Counts the values inside an open object in the binary format until its end, stopping beyond `most`. */
export function openValuesInBinary(reader: BinaryReader, end: number, most: number): number {
  return countUpTo(reader, { kind: "object", end, depth: 0 }, most);
}

function countUpTo(reader: BinaryReader, { kind, end, depth }: Stretch, most: number): number {
  if (depth > maxDepth) throw unreadable("BODY_TOO_DEEP", { max: maxDepth });
  let count = 0;
  while (reader.pos < end && count <= most) {
    const [number, wire] = reader.tag();
    const inner = inside[kind].get(number);
    // An unknown field takes as long to read as a value.
    if (!inner || inner === "value") count += 1;
    if (!inner) reader.skip(wire, number);
    else {
      const stop = reader.uint32() + reader.pos;
      const deeper = inner === "object" || inner === "list" ? depth + 1 : depth;
      count += countUpTo(reader, { kind: inner, end: stop, depth: deeper }, most - count);
    }
  }
  return count;
}

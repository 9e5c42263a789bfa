import type { JsonObject } from "@bufbuild/protobuf";
import { changed, lost, type Note } from "./import_note.ts";

/** The metadata of a line, and notes on what it lacks. */
export type MetadataPart = { readonly fields: JsonObject; readonly notes: readonly Note[] };

// The bounds of the contract; a value beyond them would cause the refusal of the whole user.
const keys = /^[A-Za-z0-9_.:/-]{1,100}$/;
const [mostEntries, mostCharacters, mostBytes] = [50, 500, 16_384] as const;

type Kept = { readonly key: string; readonly value: string };

/** Converts named values to metadata as far as its bounds allow. A text stays as it is, and anything else becomes JSON. */
export function metadataOf(values: readonly (readonly [key: string, value: unknown])[]): MetadataPart {
  const [kept, left, rewritten] = [[] as Kept[], [] as string[], [] as string[]];
  let bytes = 0;
  for (const [key, value] of values) {
    const entry = { key, value: typeof value === "string" ? value : (JSON.stringify(value) ?? "") };
    const size = Buffer.byteLength(key) + Buffer.byteLength(entry.value);
    if (!isAllowed(entry) || kept.length === mostEntries || bytes + size > mostBytes) left.push(key);
    else {
      kept.push(entry);
      bytes += size;
      if (typeof value !== "string") rewritten.push(key);
    }
  }
  return {
    fields: kept.length > 0 ? { metadata: kept } : {},
    notes: [
      ...(rewritten.length > 0 ? [changed(`its metadata ${namesIn(rewritten)} is JSON now`)] : []),
      ...(left.length > 0 ? [lost(`its metadata ${namesIn(left)}`)] : []),
    ],
  };
}

const isAllowed = ({ key, value }: Kept): boolean =>
  keys.test(key) && [...value].length <= mostCharacters && value.isWellFormed() && !value.includes("\0");

const mostNamed = 5;

/** The first few names, in quotes and not too long. */
function namesIn(names: readonly string[]): string {
  const shown = names.slice(0, mostNamed).map((name) => JSON.stringify(name.slice(0, 100)));
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : "";
  return shown.join(", ") + more;
}

import { createReadStream } from "node:fs";
import type { Note } from "./import_note.ts";
import type { ItemKind } from "./item.ts";

/** An item to import, as found in its file: its place, and its JSON or the reason why there is none. */
export type SourceItem = {
  /** `line 12`, or `users[3]`. */
  readonly at: string;
  readonly json?: unknown;
  readonly fault?: string;
  /** The parts that could not be transferred unchanged; an item without JSON and fault has nothing else. */
  readonly notes?: readonly Note[];
  /** The kind of an item without JSON. */
  readonly kind?: ItemKind;
  /** The number of bytes from the start of the file to the item's end. */
  readonly end: number;
};

/** The maximum length of a line; an application with every list full takes a quarter of that. */
export const longestLine = 1 << 20;

const newline = 10;

type Cut = { readonly at: string; readonly end: number; readonly bytes: Buffer | undefined };

/** Reads a file of JSON lines piece by piece. A line that is too long, or is not JSON, becomes an item with a fault. */
export async function* jsonLines(path: string): AsyncGenerator<SourceItem> {
  for await (const { at, end, bytes } of lines(path)) {
    if (!bytes) yield { at, end, fault: `is longer than ${longestLine} bytes` };
    else if (!isBlank(bytes)) yield { at, end, ...parsed(bytes) };
  }
}

/** Splits a file at line ends; the bytes of a line that is too long are discarded as they arrive. */
async function* lines(path: string): AsyncGenerator<Cut> {
  let kept: Buffer[] = [];
  let [length, end, number] = [0, 0, 1];
  const line = (): Cut => {
    const bytes = length > longestLine ? undefined : Buffer.concat(kept);
    [kept, length] = [[], 0];
    return { at: `line ${number++}`, end, bytes };
  };
  const keep = (piece: Buffer) => {
    length += piece.length;
    if (length > longestLine) kept = [];
    else kept.push(piece);
  };
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let to = chunk.indexOf(newline); to >= 0; to = chunk.indexOf(newline, from)) {
      keep(chunk.subarray(from, to));
      end += to + 1 - from;
      from = to + 1;
      yield line();
    }
    keep(chunk.subarray(from));
    end += chunk.length - from;
  }
  if (length > 0) yield line();
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 32 || byte === 9 || byte === 13);

// Drops the byte order mark that Windows editors write.
const utf8 = new TextDecoder("utf-8", { fatal: true });

function parsed(bytes: Buffer): Pick<SourceItem, "json" | "fault"> {
  try {
    return { json: JSON.parse(utf8.decode(bytes)) };
  } catch (error) {
    return { fault: error instanceof SyntaxError ? `is not JSON: ${error.message.slice(0, 200)}` : "is not UTF-8" };
  }
}

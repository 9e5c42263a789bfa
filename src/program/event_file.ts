import { type FileHandle, open } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { UsageError } from "../client/usage_error.ts";

/** A file of events, a line of JSON for each. */
export type EventFile = AsyncDisposable & {
  /** The positions of the last events, the latest last. */
  readonly positions: readonly string[];
  readonly write: (event: JsonObject) => Promise<void>;
};

const mostBytes = 1_048_576;

/** Opens the file that a command names. */
export const eventFileOf = (path: string): Promise<EventFile> =>
  openEventFile(path).catch((error: Error) => {
    throw new UsageError(`${path} cannot be written (${error.message})`);
  });

/** Opens a file to append events to, and removes a line that a killed program left unfinished; throws if it holds something else. */
async function openEventFile(path: string): Promise<EventFile> {
  const file = await open(path, "a+");
  const { size } = await file.stat();
  const end = await endOf(file, size);
  const positions = end.lines.flatMap(positionOf);
  // A file named by mistake is not truncated.
  if (positions.length === 0 && !end.isBegun) {
    await file.close();
    throw new Error("it holds something other than events");
  }
  await file.truncate(end.size);
  return {
    positions,
    write: (event) => file.appendFile(`${JSON.stringify(event)}\n`),
    async [Symbol.asyncDispose]() {
      await file.sync().catch(() => {});
      await file.close();
    },
  };
}

const beginning = '{"position":';

/** The last whole lines of a file, its size without an unfinished last line, and whether it has only a part of its first event. */
async function endOf(file: FileHandle, size: number) {
  const start = Math.max(0, size - mostBytes);
  const bytes = Buffer.alloc(size - start);
  await file.read(bytes, 0, bytes.length, start);
  const length = bytes.lastIndexOf("\n") + 1;
  const lines = bytes.toString("utf8", 0, length).split("\n");
  const isBegun =
    size <= mostBytes && length === 0 && beginning.startsWith(bytes.toString("utf8", 0, beginning.length));
  // The first one may be incomplete.
  return { size: start + length, lines: start > 0 ? lines.slice(1) : lines, isBegun };
}

function positionOf(line: string): string[] {
  try {
    const { position } = JSON.parse(line) as { position?: unknown };
    return typeof position === "string" ? [position] : [];
  } catch {
    return [];
  }
}

import { type FileHandle, open, rm } from "node:fs/promises";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Status } from "../../gen/google/rpc/status_pb.ts";
import type { Note } from "./import_note.ts";
import type { ItemKind } from "./item.ts";

export type Reasons = {
  /** Stable, as documented in docs/errors.md; absent for an item that was never sent. */
  readonly reason?: string | undefined;
  readonly message: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldReason[];
};

type FieldReason = { readonly field: string; readonly description: string };

export function reasonsOf({ message, details }: Status): Reasons {
  const info = unpacked(details, ErrorInfoSchema);
  const fields = unpacked(details, BadRequestSchema)?.fieldViolations ?? [];
  return { reason: info?.reason, message, params: info?.metadata ?? {}, violations: fields.map(plain) };
}

export function reasonsOfError(error: ConnectError): Reasons {
  const [info] = error.findDetails(ErrorInfoSchema);
  const fields = error.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
  return {
    reason: info?.reason,
    message: error.rawMessage,
    params: info?.metadata ?? {},
    violations: fields.map(plain),
  };
}

const plain = ({ field, description }: FieldReason): FieldReason => ({ field, description });

function unpacked<D extends DescMessage>(details: readonly Any[], desc: D): MessageShape<D> | undefined {
  for (const one of details) {
    const found = anyUnpack(one, desc);
    if (found) return found;
  }
  return undefined;
}

/** Writes a line with its item, or without it if the item nests too deeply: JSON can be parsed at greater depth than it can be written. */
function lineOf(refusal: object, item: unknown): string {
  try {
    return JSON.stringify({ ...refusal, item });
  } catch (error) {
    if (error instanceof RangeError) return JSON.stringify(refusal);
    throw error;
  }
}

/** The file of refused items: their places, the reasons, and the items themselves, so that they can be corrected. */
export type RefusedFile = AsyncDisposable & {
  readonly path: string;
  readonly write: (at: string, reasons: Reasons, json: unknown) => Promise<void>;
};

/** The file of items changed or lost in the transfer: the place and kind of each item, and the outcome. */
export type NotesFile = AsyncDisposable & {
  readonly path: string;
  readonly write: (at: string, kind: ItemKind, notes: readonly Note[]) => Promise<void>;
};

export async function refusedFile(path: string): Promise<RefusedFile> {
  const { write, ...file } = await linesFile(path);
  return {
    ...file,
    async write(at, { reason, message, violations = [] }, json) {
      const fields = violations.length > 0 ? { violations } : {};
      await write(lineOf({ at, reason, message, ...fields }, json));
    },
  };
}

export async function notesFile(path: string): Promise<NotesFile> {
  const { write, ...file } = await linesFile(path);
  return {
    ...file,
    async write(at, kind, notes) {
      for (const { became, what } of notes) await write(JSON.stringify({ at, kind, [became]: what }));
    },
  };
}

/** Opens a file with its first line, for its owner only, because items may contain password hashes. An existing file is replaced. */
async function linesFile(path: string) {
  await rm(path, { force: true });
  let file: Promise<FileHandle> | undefined;
  return {
    path,
    async write(line: string): Promise<void> {
      file ??= open(path, "wx", 0o600);
      await (await file).appendFile(`${line}\n`);
    },
    [Symbol.asyncDispose]: async () => (await file)?.close(),
  };
}

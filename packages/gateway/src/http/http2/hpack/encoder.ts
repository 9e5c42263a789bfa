import type { ResponseFields } from "../../exchange.ts";
import { indexedFieldMaxBytes } from "../limits.ts";
import { entrySize, initialTableSize, staticTable } from "./static_table.ts";

/** A buffer with enough room, and the offset to write at. */
export type Output = { readonly bytes: Buffer; at: number };

// Without pseudo-header fields: only the status is sent, and it comes first.
const staticNames = new Map(
  staticTable
    .map(([name], at) => [name, at + 1] as const)
    .filter(([name]) => !name.startsWith(":"))
    .reverse(),
);
const statuses = new Map(
  staticTable.flatMap(([name, value], at) => (name === ":status" ? [[Number(value), at + 1]] : [])),
);
const statusNameIndex = statuses.get(200) ?? 0;

// Fields with recurring values; for all others, only the name is worth an entry in the dynamic table.
const repeated = new Set([
  ...["content-type", "grpc-status", "grpc-encoding", "grpc-accept-encoding", "content-encoding", "cache-control"],
  ...["x-content-type-options", "vary", "access-control-allow-origin", "access-control-expose-headers", "allow"],
]);

/** An upper bound for the size of fields in a field block. */
export function maxEncodedBytes(fields: ResponseFields | undefined): number {
  let bytes = overhead;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === "string") bytes += name.length + value.length + overhead;
    else for (const one of value ?? []) bytes += name.length + one.length + overhead;
  }
  return bytes;
}

// A field line has a first byte and two integers; a block, a status and two table size updates.
const overhead = 16;

/** Encodes field blocks: RFC 7541. It never evicts entries: once its table is full, fields are sent as literals. */
export class Encoder {
  readonly #values = new Map<string, Map<string, number>>();
  readonly #names = new Map<string, number>();
  #inserted = 0;
  #maxSize = initialTableSize;
  #freeBytes = initialTableSize;
  #isResized = false;

  /** Applies the SETTINGS_HEADER_TABLE_SIZE of the decoder. */
  resize(bytes: number): void {
    this.#maxSize = Math.min(bytes, initialTableSize);
    this.#isResized = true;
  }

  /** Empties the dynamic table after a block that was begun but not sent. */
  restart(): void {
    this.#isResized = true;
  }

  /** Begins the block of a response. */
  status(status: number, output: Output): void {
    this.begin(output);
    const index = statuses.get(status);
    if (index !== undefined) return void integer(output, { prefix: 0x80, max: 127, value: index });
    integer(output, { prefix: 0, max: 15, value: statusNameIndex });
    stringLiteral(output, String(status));
  }

  /** Begins a block; required before its fields. */
  begin(output: Output): void {
    if (!this.#isResized) return;
    // Size 0 first, so that both tables are empty whatever sizes were announced in between (RFC 7541, 4.2).
    integer(output, { prefix: 0x20, max: 31, value: 0 });
    integer(output, { prefix: 0x20, max: 31, value: this.#maxSize });
    this.#values.clear();
    this.#names.clear();
    this.#inserted = 0;
    this.#freeBytes = this.#maxSize;
    this.#isResized = false;
  }

  fields(fields: ResponseFields | undefined, output: Output): void {
    for (const name in fields) {
      const value = fields[name];
      if (typeof value === "string") this.#field(name, value, output);
      else for (const one of value ?? []) this.#field(name, one, output);
    }
  }

  #field(name: string, value: string, output: Output): void {
    const known = this.#values.get(name)?.get(value);
    if (known !== undefined) return void integer(output, { prefix: 0x80, max: 127, value: this.#indexOf(known) });
    const nameEntry = this.#names.get(name);
    const index = staticNames.get(name) ?? (nameEntry === undefined ? 0 : this.#indexOf(nameEntry));
    // A name in a table was checked when it was added.
    if (!isSendableValue(value) || (index === 0 && !isSendableName(name)))
      throw new TypeError(`the field ${JSON.stringify(name)} cannot be sent`);
    const isWorthIt = repeated.has(name) || index === 0;
    const isInserted = isWorthIt && this.#insert(name, value);
    if (isInserted) integer(output, { prefix: 0x40, max: 63, value: index });
    else integer(output, { prefix: 0, max: 15, value: index });
    if (index === 0) stringLiteral(output, name);
    stringLiteral(output, value);
  }

  #indexOf(inserted: number): number {
    return staticTable.length + this.#inserted - inserted;
  }

  #insert(name: string, value: string): boolean {
    const size = entrySize(name, value);
    if (size > this.#freeBytes || size > indexedFieldMaxBytes) return false;
    this.#freeBytes -= size;
    if (repeated.has(name)) {
      const values = this.#values.get(name) ?? new Map<string, number>();
      this.#values.set(name, values.set(value, this.#inserted));
    }
    this.#names.set(name, this.#inserted);
    this.#inserted += 1;
    return true;
  }
}

const sendableName = /^[!#$%&'*+.^_`|~\w-]+$/;

const isSendableName = (name: string) => sendableName.test(name) && name === name.toLowerCase();

function isSendableValue(value: string): boolean {
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false;
  }
  return true;
}

type Prefixed = { readonly prefix: number; readonly max: number; readonly value: number };

/** RFC 7541, 5.1. */
function integer(output: Output, { prefix, max, value }: Prefixed): void {
  const { bytes } = output;
  if (value < max) {
    bytes[output.at++] = prefix | value;
    return;
  }
  bytes[output.at++] = prefix | max;
  let rest = value - max;
  for (; rest >= 0x80; rest >>>= 7) bytes[output.at++] = (rest & 0x7f) | 0x80;
  bytes[output.at++] = rest;
}

// Without Huffman coding, which would cost more than the bytes it saves.
function stringLiteral(output: Output, text: string): void {
  integer(output, { prefix: 0, max: 127, value: text.length });
  const { bytes } = output;
  // A call into the runtime costs about as much as thirty characters.
  if (text.length > 32) bytes.write(text, output.at, "latin1");
  else for (let at = 0; at < text.length; at += 1) bytes[output.at + at] = text.charCodeAt(at);
  output.at += text.length;
}

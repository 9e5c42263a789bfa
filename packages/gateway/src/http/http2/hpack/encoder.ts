import type { Sent } from "../../exchange.ts";
import { sizeOf, staticTable, usualTableBytes } from "./static_table.ts";

/** Bytes to write into, with room for what comes. */
export type Ink = { readonly bytes: Buffer; at: number };

const staticNames = new Map([...staticTable].reverse().map(([name], back) => [name, staticTable.length - back]));
const statuses = new Map(staticTable.flatMap(([name, value], at) => (name === ":status" ? [[value, at + 1]] : [])));
const statusName = staticNames.get(":status") ?? 0;

// Fields that say the same again and again; of all others only the name is worth remembering.
const constant = new Set([
  ...["content-type", "grpc-status", "grpc-encoding", "grpc-accept-encoding", "content-encoding", "cache-control"],
  ...["x-content-type-options", "vary", "access-control-allow-origin", "access-control-expose-headers", "allow"],
]);

const longestRemembered = 256;

/** The most bytes that fields take up once they are encoded. */
export function boundOf(fields: Sent | undefined): number {
  let bytes = overhead;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === "string") bytes += name.length + value.length + overhead;
    else for (const one of value ?? []) bytes += name.length + one.length + overhead;
  }
  return bytes;
}

// Two numbers and a first byte for a field; for a block its status and two sizes of the table.
const overhead = 16;

/** Writes blocks of header fields. Its table only grows: what does not fit any more is sent in full. */
export class Encoder {
  readonly #values = new Map<string, Map<string, number>>();
  readonly #names = new Map<string, number>();
  #inserted = 0;
  #most = usualTableBytes;
  #room = usualTableBytes;
  #resized = false;

  /** Obeys the size that the other side allows for its table. */
  resize(bytes: number): void {
    this.#most = Math.min(bytes, usualTableBytes);
    this.#resized = true;
  }

  /** Forgets what it remembered: for a block that was begun and not sent. */
  restart(): void {
    this.#resized = true;
  }

  /** Begins a block of an answer. */
  status(status: number, ink: Ink): void {
    this.begin(ink);
    const text = String(status);
    const index = statuses.get(text);
    if (index !== undefined) return void number(ink, { prefix: 0x80, most: 127, value: index });
    number(ink, { prefix: 0, most: 15, value: statusName });
    plain(ink, text);
  }

  /** Begins a block; each block does so before its fields. */
  begin(ink: Ink): void {
    if (!this.#resized) return;
    // Emptied first, so that both tables are the same again, whatever sizes there were in between: RFC 7541, 4.2.
    number(ink, { prefix: 0x20, most: 31, value: 0 });
    number(ink, { prefix: 0x20, most: 31, value: this.#most });
    this.#values.clear();
    this.#names.clear();
    this.#inserted = 0;
    this.#room = this.#most;
    this.#resized = false;
  }

  fields(fields: Sent | undefined, ink: Ink): void {
    for (const name in fields) {
      const value = fields[name];
      if (typeof value === "string") this.#field(name, value, ink);
      else for (const one of value ?? []) this.#field(name, one, ink);
    }
  }

  #field(name: string, value: string, ink: Ink): void {
    const known = this.#values.get(name)?.get(value);
    if (known !== undefined) return void number(ink, { prefix: 0x80, most: 127, value: this.#indexOf(known) });
    if (!isSendable(name, value)) throw new TypeError(`the field ${JSON.stringify(name)} cannot be sent`);
    const remembered = this.#names.get(name);
    const index = staticNames.get(name) ?? (remembered === undefined ? 0 : this.#indexOf(remembered));
    const worth = constant.has(name) || index === 0;
    const remember = worth && this.#remember(name, value);
    if (remember) number(ink, { prefix: 0x40, most: 63, value: index });
    else number(ink, { prefix: 0, most: 15, value: index });
    if (index === 0) plain(ink, name);
    plain(ink, value);
  }

  #indexOf(inserted: number): number {
    return staticTable.length + this.#inserted - inserted;
  }

  #remember(name: string, value: string): boolean {
    const size = sizeOf(name, value);
    if (size > this.#room || size > longestRemembered) return false;
    this.#room -= size;
    if (constant.has(name)) {
      const values = this.#values.get(name) ?? new Map<string, number>();
      this.#values.set(name, values.set(value, this.#inserted));
    }
    this.#names.set(name, this.#inserted);
    this.#inserted += 1;
    return true;
  }
}

const sendableName = /^[!#$%&'*+.^_`|~\w-]+$/;

function isSendable(name: string, value: string): boolean {
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > 0xff) return false;
  }
  return sendableName.test(name) && name === name.toLowerCase();
}

type Prefixed = { readonly prefix: number; readonly most: number; readonly value: number };

/** RFC 7541, 5.1. */
function number(ink: Ink, { prefix, most, value }: Prefixed): void {
  const { bytes } = ink;
  if (value < most) {
    bytes[ink.at++] = prefix | value;
    return;
  }
  bytes[ink.at++] = prefix | most;
  let rest = value - most;
  for (; rest >= 0x80; rest >>>= 7) bytes[ink.at++] = (rest & 0x7f) | 0x80;
  bytes[ink.at++] = rest;
}

// Without the code of Huffman: it would cost more than the bytes that it saves.
function plain(ink: Ink, text: string): void {
  number(ink, { prefix: 0, most: 127, value: text.length });
  const { bytes } = ink;
  // A call into the runtime costs as much as some thirty characters.
  if (text.length > 32) bytes.write(text, ink.at, "latin1");
  else for (let at = 0; at < text.length; at += 1) bytes[ink.at + at] = text.charCodeAt(at);
  ink.at += text.length;
}

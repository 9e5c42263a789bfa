import { ConnectionFault, codes } from "../protocol.ts";
import { decodeHuffman } from "./huffman.ts";
import { staticTable, usualTableBytes } from "./static_table.ts";
import { DynamicTable } from "./table.ts";

/** Takes the fields of a block as they are read. */
export type FieldSink = { readonly add: (name: string, value: string) => void };

// RFC 7541, 4.2: the smallest size since the last block, then the one that holds.
const mostResizes = 2;
const none = Buffer.alloc(0);
// Names and values apart, for the speed of reading one of them.
const staticNames = staticTable.map(([name]) => name);
const staticValues = staticTable.map(([, value]) => value);
const firstDynamic = staticTable.length + 1;

/** Reads blocks of header fields; every block of a connection has to pass here, also one that nobody wants. */
export class Decoder {
  readonly #table = new DynamicTable(usualTableBytes);
  #bytes: Buffer = none;
  #at = 0;
  #end = 0;
  /** How often the table was changed. */
  changes = 0;

  decode(bytes: Buffer, { start, end }: { start: number; end: number }, into: FieldSink): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    for (let resizes = 0; this.#isResize(); resizes += 1) this.#resize(resizes);
    while (this.#at < end) this.#field(into);
    this.#bytes = none;
  }

  #isResize(): boolean {
    return this.#at < this.#end && ((this.#bytes[this.#at] ?? 0) & 0xe0) === 0x20;
  }

  #resize(before: number): void {
    if (before >= mostResizes) throw broken("a table resized again and again");
    const size = this.#integer(5);
    if (size > usualTableBytes) throw broken("a table that is larger than allowed");
    this.#table.resize(size);
    this.changes += 1;
  }

  #field(into: FieldSink): void {
    const first = this.#bytes[this.#at] ?? 0;
    if (first & 0x80) {
      const index = this.#integer(7);
      into.add(this.#nameAt(index), this.#valueAt(index));
      return;
    }
    if ((first & 0xe0) === 0x20) throw broken("a table resized within a block");
    const remembered = (first & 0x40) !== 0;
    const index = this.#integer(remembered ? 6 : 4);
    const name = index === 0 ? this.#text() : this.#nameAt(index);
    const value = this.#text();
    if (remembered) {
      this.#table.insert(name, value);
      this.changes += 1;
    }
    into.add(name, value);
  }

  #nameAt(index: number): string {
    const name = index < firstDynamic ? staticNames[index - 1] : this.#table.nameAt(index - firstDynamic);
    if (name === undefined) throw broken("an index that is not in the tables");
    return name;
  }

  #valueAt(index: number): string {
    const value = index < firstDynamic ? staticValues[index - 1] : this.#table.valueAt(index - firstDynamic);
    if (value === undefined) throw broken("an index that is not in the tables");
    return value;
  }

  /** RFC 7541, 5.1; nothing in a block of ours needs more than four more bytes. */
  #integer(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = this.#byte() & most;
    if (value < most) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw broken("a number that is too large");
  }

  #byte(): number {
    if (this.#at >= this.#end) throw broken("a block that ends too early");
    return this.#bytes[this.#at++] ?? 0;
  }

  #text(): string {
    const huffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    if (length > this.#end - start) throw broken("a text that ends too late");
    this.#at = start + length;
    if (!huffman) return this.#bytes.toString("latin1", start, this.#at);
    const text = decodeHuffman(this.#bytes, start, this.#at);
    if (text === undefined) throw broken("a text that is not in the code of Huffman");
    return text;
  }
}

const broken = (what: string) => new ConnectionFault(codes.compression, `header fields with ${what}`);

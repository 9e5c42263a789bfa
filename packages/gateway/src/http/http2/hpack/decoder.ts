import { tableSizeUpdatesMax } from "../limits.ts";
import { ConnectionError, ErrorCode } from "../rfc9113.ts";
import { DynamicTable } from "./dynamic_table.ts";
import { decodeHuffman } from "./huffman.ts";
import { initialTableSize, staticTable } from "./static_table.ts";

/** Called with each field line of a block. */
export type FieldSink = { readonly add: (name: string, value: string) => void };

const none = Buffer.alloc(0);
// Two arrays, because reading one half of a pair is faster this way.
const staticNames = staticTable.map(([name]) => name);
const staticValues = staticTable.map(([, value]) => value);
const firstDynamic = staticTable.length + 1;

/** Decodes field blocks: RFC 7541. All blocks of a connection must be decoded, because the dynamic table depends on every one. */
export class Decoder {
  readonly #table = new DynamicTable(initialTableSize);
  #bytes: Buffer = none;
  #at = 0;
  #end = 0;
  /** The number of changes of the dynamic table. */
  tableChanges = 0;

  decode(bytes: Buffer, { start, end }: { start: number; end: number }, into: FieldSink): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    for (let updates = 0; this.#isSizeUpdate(); updates += 1) this.#sizeUpdate(updates);
    while (this.#at < end) this.#field(into);
    this.#bytes = none;
  }

  #isSizeUpdate(): boolean {
    return this.#at < this.#end && ((this.#bytes[this.#at] ?? 0) & 0xe0) === 0x20;
  }

  #sizeUpdate(before: number): void {
    if (before >= tableSizeUpdatesMax) throw compressionError("too many dynamic table size updates");
    const size = this.#integer(5);
    if (size > initialTableSize) throw compressionError("a dynamic table size above HEADER_TABLE_SIZE");
    this.#table.resize(size);
    this.tableChanges += 1;
  }

  #field(into: FieldSink): void {
    const first = this.#bytes[this.#at] ?? 0;
    if (first & 0x80) {
      const index = this.#integer(7);
      into.add(this.#nameAt(index), this.#valueAt(index));
      return;
    }
    if ((first & 0xe0) === 0x20) throw compressionError("a dynamic table size update after a field line");
    const isIndexed = (first & 0x40) !== 0;
    const index = this.#integer(isIndexed ? 6 : 4);
    const name = index === 0 ? this.#string() : this.#nameAt(index);
    const value = this.#string();
    if (isIndexed) {
      this.#table.insert(name, value);
      this.tableChanges += 1;
    }
    into.add(name, value);
  }

  #nameAt(index: number): string {
    const name = index < firstDynamic ? staticNames[index - 1] : this.#table.nameAt(index - firstDynamic);
    if (name === undefined) throw compressionError("an index outside the tables");
    return name;
  }

  #valueAt(index: number): string {
    const value = index < firstDynamic ? staticValues[index - 1] : this.#table.valueAt(index - firstDynamic);
    if (value === undefined) throw compressionError("an index outside the tables");
    return value;
  }

  /** RFC 7541, 5.1; four continuation bytes are enough for every length within our limits. */
  #integer(prefixBits: number): number {
    const max = (1 << prefixBits) - 1;
    let value = this.#byte() & max;
    if (value < max) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw compressionError("an integer that is too large");
  }

  #byte(): number {
    if (this.#at >= this.#end) throw compressionError("a field block that ends too early");
    return this.#bytes[this.#at++] ?? 0;
  }

  #string(): string {
    const huffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#at;
    if (length > this.#end - start) throw compressionError("a string that exceeds its field block");
    this.#at = start + length;
    if (!huffman) return this.#bytes.toString("latin1", start, this.#at);
    const text = decodeHuffman(this.#bytes, start, this.#at);
    if (text === undefined) throw compressionError("an invalid Huffman code");
    return text;
  }
}

const compressionError = (message: string) => new ConnectionError(ErrorCode.COMPRESSION_ERROR, message);

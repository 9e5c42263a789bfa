import { entrySize } from "./static_table.ts";

/** The dynamic table of a decoder; index 0 is the newest entry: RFC 7541, 2.3.2. */
export class DynamicTable {
  // Oldest first; entries before `#first` are evicted.
  #names: string[] = [];
  #values: string[] = [];
  #first = 0;
  #size = 0;
  #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** The number of its entries. */
  get length(): number {
    return this.#names.length - this.#first;
  }

  nameAt(index: number): string | undefined {
    return index < this.length ? this.#names[this.#names.length - 1 - index] : undefined;
  }

  valueAt(index: number): string | undefined {
    return index < this.length ? this.#values[this.#values.length - 1 - index] : undefined;
  }

  insert(name: string, value: string): void {
    const size = entrySize(name, value);
    this.#evict(this.#maxSize - size);
    // An entry larger than the table empties it: RFC 7541, 4.4.
    if (size > this.#maxSize) return;
    this.#names.push(name);
    this.#values.push(value);
    this.#size += size;
  }

  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evict(maxSize);
  }

  #evict(maxSize: number): void {
    while (this.#size > maxSize && this.length > 0) {
      this.#size -= entrySize(this.#names[this.#first] ?? "", this.#values[this.#first] ?? "");
      this.#first += 1;
    }
    if (this.#first > 64) {
      this.#names = this.#names.slice(this.#first);
      this.#values = this.#values.slice(this.#first);
      this.#first = 0;
    }
  }
}

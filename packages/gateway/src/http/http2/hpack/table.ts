import { sizeOf } from "./static_table.ts";

/** The fields that a sender has told us to remember, the newest first: RFC 7541, 2.3.2. */
export class DynamicTable {
  // Oldest first, from `#first` on; what is before that is gone.
  #names: string[] = [];
  #values: string[] = [];
  #first = 0;
  #size = 0;
  #most: number;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  /** How many fields it holds. */
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
    const size = sizeOf(name, value);
    this.#shrink(this.#most - size);
    // One that is larger than the whole table empties it: RFC 7541, 4.4.
    if (size > this.#most) return;
    this.#names.push(name);
    this.#values.push(value);
    this.#size += size;
  }

  resize(mostBytes: number): void {
    this.#most = mostBytes;
    this.#shrink(mostBytes);
  }

  #shrink(most: number): void {
    while (this.#size > most && this.length > 0) {
      this.#size -= sizeOf(this.#names[this.#first] ?? "", this.#values[this.#first] ?? "");
      this.#first += 1;
    }
    if (this.#first > 64) {
      this.#names = this.#names.slice(this.#first);
      this.#values = this.#values.slice(this.#first);
      this.#first = 0;
    }
  }
}

import type { Head } from "./head.ts";

// What a connection keeps beside its request; larger heads are read anew.
const mostBytes = 2048;

/** The last head of a connection: most clients send the same again and again. */
export class LastHead {
  #head: Head | undefined;
  #bytes: Buffer = Buffer.alloc(0);

  /** The bytes of the head. */
  get length(): number {
    return this.#bytes.length;
  }

  /** The head, where bytes go on with it. */
  at(bytes: Buffer, start: number): Head | undefined {
    const { length } = this.#bytes;
    const isSame = bytes.length - start >= length && bytes.compare(this.#bytes, 0, length, start, start + length) === 0;
    return isSame ? this.#head : undefined;
  }

  /** Remembers a head and its bytes, of which it makes a copy. */
  keep(bytes: Buffer, head: Head): void {
    if (bytes.length > mostBytes) return;
    this.#bytes = Buffer.from(bytes);
    this.#head = head;
  }
}

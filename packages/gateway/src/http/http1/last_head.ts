import type { Head } from "./head.ts";

// Larger heads are not cached, and parsed each time.
const maxBytes = 2048;

/** Caches the last head of a connection, because most clients repeat the same bytes. */
export class LastHead {
  #head: Head | undefined;
  #bytes: Buffer = Buffer.alloc(0);

  /** The length of the head in bytes. */
  get length(): number {
    return this.#bytes.length;
  }

  /** The cached head, if the bytes from `start` begin with it. */
  at(bytes: Buffer, start: number): Head | undefined {
    const { length } = this.#bytes;
    const isSame = bytes.length - start >= length && bytes.compare(this.#bytes, 0, length, start, start + length) === 0;
    return isSame ? this.#head : undefined;
  }

  /** Caches a head and a copy of its bytes. */
  keep(bytes: Buffer, head: Head): void {
    if (bytes.length > maxBytes) return;
    this.#bytes = Buffer.from(bytes);
    this.#head = head;
  }
}

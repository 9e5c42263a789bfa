import type { BodyAccount } from "./body_budget.ts";

const empty = Buffer.alloc(0);

/** Collects a body in one growing buffer within its account's budget; many small parts cost no more than one. */
export class BodyBuffer {
  readonly #account: BodyAccount;
  #bytes: Buffer = empty;
  #length = 0;

  constructor(account: BodyAccount) {
    this.#account = account;
  }

  get length(): number {
    return this.#length;
  }

  /** The collected bytes; valid until the next `add`. */
  get bytes(): Buffer {
    return this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  /** Adds a part; false if the budget has no room for it, in which case everything is dropped. */
  add(part: Buffer): boolean {
    if (!this.#account.take(part.length)) {
      this.clear();
      return false;
    }
    const length = this.#length + part.length;
    // The first part, which usually is the whole body, is kept without copying unless its underlying memory is much larger.
    if (this.#length === 0 && part.buffer.byteLength - part.length <= maxSlackBytes) this.#bytes = part;
    else {
      if (this.#bytes.length < length) this.#bytes = this.#grown(length);
      part.copy(this.#bytes, this.#length);
    }
    this.#length = length;
    return true;
  }

  /** Returns the collected bytes and clears the buffer. */
  take(): Buffer {
    const { bytes } = this;
    this.clear();
    return bytes;
  }

  clear(): void {
    this.#account.give(this.#length);
    this.#bytes = empty;
    this.#length = 0;
  }

  #grown(minLength: number): Buffer {
    const larger = Buffer.allocUnsafeSlow(Math.max(minLength, 2 * this.#length, minCapacity));
    this.#bytes.copy(larger, 0, 0, this.#length);
    return larger;
  }
}

const minCapacity = 256;
// A one-byte part may keep a 64 KiB socket read in memory; heads and small buffers are smaller than this.
const maxSlackBytes = 16_384;

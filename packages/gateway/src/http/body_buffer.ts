import type { BodyAccount } from "./body_budget.ts";

const empty = Buffer.alloc(0);

/** Collects a body in one buffer, however many parts it comes in, within the budget of its account. */
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

  /** The bytes that were collected; good until more are. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Adds a part; false when the budget has no room for it, and then nothing is held any more. */
  add(part: Buffer): boolean {
    if (!this.#account.take(part.length)) {
      this.clear();
      return false;
    }
    const length = this.#length + part.length;
    // A first part, which is all of most bodies, is kept where it lies, unless that holds much more than the part.
    if (this.#length === 0 && part.buffer.byteLength - part.length <= mostAround) this.#bytes = part;
    else {
      if (this.#bytes.length < length) this.#bytes = this.#grown(length);
      part.copy(this.#bytes, this.#length);
    }
    this.#length = length;
    return true;
  }

  /** Hands over what was collected, which then counts no more. */
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

  #grown(least: number): Buffer {
    const larger = Buffer.allocUnsafeSlow(Math.max(least, 2 * this.#length, leastCapacity));
    this.#bytes.copy(larger, 0, 0, this.#length);
    return larger;
  }
}

const leastCapacity = 256;
// A read from a socket takes up to 64 KiB, and a part of one byte keeps all of it; heads and small buffers are less than this.
const mostAround = 16_384;

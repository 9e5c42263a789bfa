import type { Rate } from "./limits.ts";

/** A token bucket. */
export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #refilledAt = performance.now();

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Takes a token; false if the bucket is empty. */
  take(): boolean {
    if (this.#tokens < 1) this.#refill();
    this.#tokens -= 1;
    return this.#tokens >= 0;
  }

  /** Adds tokens, up to the burst. */
  add(count: number): void {
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + count);
  }

  #refill(): void {
    const now = performance.now();
    const gained = ((now - this.#refilledAt) / 1000) * this.#rate.perSecond;
    this.#tokens = Math.min(this.#rate.burst, Math.max(0, this.#tokens) + gained);
    this.#refilledAt = now;
  }
}

/** So many at once, and so many more each second. */
export class Allowance {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #since = performance.now();

  constructor(burst: number, perSecond: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
  }

  /** Takes one; false when there is none left. */
  spend(): boolean {
    if (this.#left < 1) this.#refill();
    this.#left -= 1;
    return this.#left >= 0;
  }

  /** Gives some back, for work that is worth it. */
  earn(count: number): void {
    this.#left = Math.min(this.#burst, this.#left + count);
  }

  #refill(): void {
    const now = performance.now();
    this.#left = Math.min(this.#burst, Math.max(0, this.#left) + ((now - this.#since) / 1000) * this.#perSecond);
    this.#since = now;
  }
}

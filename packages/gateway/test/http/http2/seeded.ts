/** A seeded generator of whole numbers below a bound: the same numbers in every run. */
export function seeded(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    // Mulberry32.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

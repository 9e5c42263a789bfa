/** Returns a whole number below a bound. */
export type Random = (bound: number) => number;

/** One of several values. */
export const oneOf = <T>(random: Random, values: readonly T[]): T => values[random(values.length)] as T;

/** Bytes with some of them changed, cut out, repeated or put in. */
export function mutated(random: Random, bytes: Buffer): Buffer {
  let result = bytes;
  for (let times = 1 + random(4); times > 0; times--) {
    const at = random(result.length + 1);
    const [before, behind] = [result.subarray(0, at), result.subarray(at)];
    const junk = Buffer.from(Array.from({ length: 1 + random(8) }, () => random(256)));
    const skipped = behind.subarray(1 + random(8));
    const repeated = Buffer.concat(Array.from({ length: 1 + random(20) }, () => behind.subarray(0, 1 + random(16))));
    result = Buffer.concat([
      before,
      oneOf(random, [junk, repeated, Buffer.alloc(0)]),
      oneOf(random, [behind, skipped]),
    ]);
  }
  return result;
}

import { randomInt } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { cases } from "./corpus.ts";
import { openPair, tried, triedSeed } from "./runner.ts";

const pair = openPair();
afterAll(() => pair[Symbol.dispose]());

// More of them: npm run fuzz.
const sequences = 1500;

test.each(cases())("ours answers like Node's, or refuses: $name", async ({ frames }) => {
  expect(await tried(pair, { frames, cuts: undefined })).toBeUndefined();
});

test.each([1, 1_000_000, randomInt(2 ** 31)])(
  "ours answers like Node's, or refuses, from seed %i on",
  async (first) => {
    for (let seed = first; seed < first + sequences; seed += 1)
      expect(await triedSeed(pair, seed), `npm run fuzz -- --seed ${seed} --count 1`).toBeUndefined();
  },
);

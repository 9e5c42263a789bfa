import { expect, test } from "vitest";
import { wordSet } from "../../src/security/word_set.ts";

test("a set has its words and no others, not even their beginnings, ends and neighbours", () => {
  const words = new Set(["secret", "sec", "ret", "größe", "密码", "", "a"]);
  const set = wordSet(words);
  for (const word of words) expect(set.has(word)).toBe(true);
  for (const word of ["secre", "ecret", "secret\nsec", "\n", "größ", "密", "A", "b"]) expect(set.has(word)).toBe(false);
});

test("a large set has the same words as a Set of strings", () => {
  const words = new Set(Array.from({ length: 50_000 }, (_, n) => (n * 7919).toString(36)));
  const set = wordSet(words);
  const asked = Array.from({ length: 200_000 }, (_, n) => n.toString(36));
  expect(asked.filter(set.has)).toEqual(asked.filter((word) => words.has(word)));
});

test("an empty set has nothing", () => {
  expect(wordSet(new Set()).has("")).toBe(false);
});

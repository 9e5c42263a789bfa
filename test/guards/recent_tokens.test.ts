import { expect, test } from "vitest";
import { recentTokens } from "../../src/guards/recent_tokens.ts";

test("hashes are kept by their tokens, and not more than a number of them", () => {
  const tokens = recentTokens(2);
  tokens.keep("a", "1");
  tokens.keep("b", "2");
  expect([tokens.hashOf("a"), tokens.hashOf("b"), tokens.hashOf("c")]).toEqual(["1", "2", undefined]);
  tokens.keep("c", "3");
  expect([tokens.hashOf("a"), tokens.hashOf("b"), tokens.hashOf("c")]).toEqual([undefined, undefined, "3"]);
});

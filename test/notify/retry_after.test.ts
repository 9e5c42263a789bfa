import { expect, test } from "vitest";
import { retryAfterSeconds } from "../../src/notify/retry_after.ts";

const date = "Wed, 21 Oct 2026 07:28:00 GMT";

const responses: readonly (readonly [string | undefined, string | undefined, number])[] = [
  ["7", date, 7],
  [" 7 ", undefined, 7],
  ["86400", date, 86_400],
  ["Wed, 21 Oct 2026 07:30:10 GMT", date, 130],
  // In the past, or without anything to compare it with.
  ["Wed, 21 Oct 2026 07:27:00 GMT", date, 0],
  ["Wed, 21 Oct 2026 07:30:10 GMT", undefined, 0],
  ["Wed, 21 Oct 2026 07:30:10 GMT", "yesterday", 0],
  // What is neither.
  ...["", "-5", "1.5", "1e9", "9999999999", "soon", "Oct 21 2027"].map((text) => [text, date, 0] as const),
  [undefined, date, 0],
];

test.each(responses)("retry-after: %s in a response of %s", (retryAfter, of, seconds) => {
  expect(retryAfterSeconds({ retryAfter, date: of })).toBe(seconds);
});

import { expect, test } from "vitest";
import { progressBar, progressLine } from "../../src/transfer/progress.ts";

const counts = { made: 40, there: 8, refused: 2 };

test("the bar shows the share of the file, what became of the lines, and how fast", () => {
  expect(progressLine({ bytes: 50, total: 100, counts, seconds: 5 })).toBe(
    "[###############...............]  50 %  40 created, 8 already there, 2 refused, 10/s",
  );
  expect(progressLine({ bytes: 0, total: 0, counts, seconds: 0 })).toContain("100 %");
});

function shown(isTTY: boolean): string {
  const parts: string[] = [];
  const terminal = { isTTY, columns: 40, write: (part: unknown) => parts.push(String(part)) > 0 };
  {
    using bar = progressBar(terminal, 100);
    bar.show(50, counts);
  }
  return parts.join("");
}

test("a terminal is as wide as it is, and a file gets no bar", () => {
  expect(shown(true)).toMatch(/^\r\S+\[K\[#+\.+\] {2}50 %.*\r\S+\[K$/);
  expect(shown(true).split("\r")[1]?.length).toBeLessThanOrEqual(3 + 39);
  expect(shown(false)).toBe("");
});

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isWorthwhile } from "../../src/server/idle_memory.ts";

const megabyte = 1024 * 1024;
const resting = { utilization: 0.01, rss: 200 * megabyte, left: 100 * megabyte, sinceCollectionMs: 60_000 };

test("a process that rests and has grown returns memory", () => {
  expect(isWorthwhile(resting)).toBe(true);
  expect(isWorthwhile({ ...resting, left: 0, sinceCollectionMs: Number.POSITIVE_INFINITY })).toBe(true);
});

test.each([
  ["works", { utilization: 0.2 }],
  ["holds little more than the last collection left", { rss: 110 * megabyte }],
  ["has just returned some", { sinceCollectionMs: 10_000 }],
])("a process that %s is left alone", (_, other) => {
  expect(isWorthwhile({ ...resting, ...other })).toBe(false);
});

test("the memory of a busy moment goes back to the system once the process rests", async () => {
  const program = `
    import { returnIdleMemory } from ${JSON.stringify(new URL("../../src/server/idle_memory.ts", import.meta.url).href)};
    let held = Array.from({ length: 40 }, () => Array.from({ length: 100_000 }, (_, n) => ({ n })));
    const most = process.memoryUsage.rss();
    held = undefined;
    using returning = returnIdleMemory(20);
    while (process.memoryUsage.rss() > most / 2) await new Promise((resolve) => setTimeout(resolve, 20));
    process.stdout.write("returned");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  expect(stdout).toBe("returned");
});

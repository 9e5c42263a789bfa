import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { hashBehindOthers } from "../../src/security/priority.ts";

const threads = "/proc/self/task";

/** The niceness of each thread of this process, by the thread's name. */
function niceness(): [name: string, nice: number][] {
  return readdirSync(threads).map((thread) => {
    const stat = readFileSync(`${threads}/${thread}/stat`, "utf8");
    const [name = "", rest = ""] = stat.slice(stat.indexOf("(") + 1).split(/\) (?=[A-Z] )/);
    return [name, Number(rest.split(" ")[16])];
  });
}

test.runIf(process.platform === "linux")("the threads that hash go behind the one that answers", async () => {
  const own = niceness().find(([name]) => !name.startsWith("libuv-worker"))?.[1] ?? Number.NaN;
  await hashBehindOthers();
  const all = niceness();
  const pool = all.filter(([name]) => name.startsWith("libuv-worker"));
  expect(pool.length).toBeGreaterThan(0);
  for (const [, nice] of pool) expect(nice).toBeGreaterThan(own);
  expect(all.filter(([, nice]) => nice === own).length).toBeGreaterThan(0);
});

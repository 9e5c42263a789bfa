import { writeSync } from "node:fs";

// Preloaded into a node that runs with --expose-gc: at SIGWINCH it writes its memory, and again once V8 has returned its pages.
// Node 24 keeps the pages of its busiest moment in a pool that only a collection of last resort returns; `heapTotal` is without them.
const collect = globalThis.gc as ((options: object) => void) | undefined;

process.on("SIGWINCH", () => {
  const rss = process.memoryUsage.rss();
  const began = performance.now();
  collect?.({ type: "major", execution: "sync", flavor: "last-resort" });
  const pauseMs = Math.round(performance.now() - began);
  const { rss: inUse, heapUsed } = process.memoryUsage();
  writeSync(1, `${JSON.stringify({ memory: { rss, inUse, heapUsed, pauseMs } })}\n`);
});

import { type ChildProcess, fork } from "node:child_process";
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { keep } from "./corpus.ts";
import { type Finding, openPair, triedSeed } from "./runner.ts";

// npm run fuzz: a million sequences; `-- --seed <first> --count <how many>` runs others. Findings are kept in corpus/.

const { values } = parseArgs({
  options: { seed: { type: "string" }, count: { type: "string" }, child: { type: "boolean" } },
});
const first = Number(values.seed ?? randomInt(2 ** 31));
const count = Number(values.count ?? 1_000_000);
const silenceMs = 60_000;
const reportEvery = 1000;
const growthMax = 64 * 2 ** 20;

/** Runs the sequences in a process of its own, which an endless loop would silence. */
async function watch(): Promise<number> {
  console.log(`fuzz: ${count} sequences from seed ${first} on`);
  const args = ["--child", "--seed", String(first), "--count", String(count)];
  const child: ChildProcess = fork(new URL(import.meta.url), args, { execArgv: ["--expose-gc"] });
  let seed = first;
  const { promise, resolve } = Promise.withResolvers<number>();
  const killing = setTimeout(() => {
    console.log(`fuzz: silent since seed ${seed}, within the ${reportEvery} after it`);
    child.kill("SIGKILL");
  }, silenceMs);
  child.on("message", (at: number) => {
    seed = at;
    killing.refresh();
  });
  child.on("exit", (code) => {
    clearTimeout(killing);
    resolve(code ?? 1);
  });
  return promise;
}

async function fuzz(): Promise<number> {
  using pair = openPair();
  const begun = performance.now();
  let findings = 0;
  let heap = 0;
  for (let done = 0; done < count; done += 1) {
    const finding = await triedSeed(pair, first + done);
    if (finding) report(first + done, finding);
    if (finding) findings += 1;
    if (done % reportEvery === 0) process.send?.(first + done);
    if (done === Math.floor(count / 10)) heap = heapBytes();
    if (done % 100_000 === 99_999)
      console.log(`fuzz: ${done + 1}, ${rate(done, begun)}, ${megabytes(heapBytes())} held`);
  }
  const growth = heapBytes() - heap;
  console.log(`fuzz: ${count} sequences, ${rate(count, begun)}, ${findings} findings, ${megabytes(growth)} more held`);
  process.disconnect?.();
  return findings > 0 || growth > growthMax ? 1 : 0;
}

const rate = (done: number, begun: number) => `${Math.round((done / (performance.now() - begun)) * 1000)}/s`;
const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`;

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function report(seed: number, { frames, differences, faults }: Finding): void {
  console.log(`fuzz: seed ${seed}`, faults);
  for (const { streamId, own, node } of differences)
    console.log(`  stream ${streamId}\n  ours:   ${own}\n  Node's: ${node}`);
  keep({ name: `seed-${seed}`, found: differences[0]?.own.slice(0, 200) ?? String(faults[0]), frames });
}

process.exitCode = values.child ? await fuzz() : await watch();

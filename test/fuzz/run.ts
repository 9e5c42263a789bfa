import { type ChildProcess, fork } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "../../src/config/config.ts";
import { newToken } from "../../src/security/token.ts";
import { startServer } from "../../src/server/server.ts";
import { newDatabase, startCluster } from "../cluster.ts";
import { clientOf } from "../rest_client.ts";
import { fuzz, poolOf } from "./runner.ts";

// npm run fuzz:calls: a million requests through every door; `-- --seed <first> --count <how many>` sends others.

const { values } = parseArgs({
  options: { seed: { type: "string" }, count: { type: "string" }, child: { type: "boolean" } },
});
const first = Number(values.seed ?? randomInt(2 ** 30));
const count = Number(values.count ?? 1_000_000);
const silenceMs = 120_000;
const reportEvery = 1000;
const growthMax = 96 * 2 ** 20;

/** Runs the server and its clients in a process of its own, which an endless loop would silence. */
async function watch(): Promise<number> {
  console.log(`fuzz: ${count} requests from seed ${first} on`);
  const args = ["--child", "--seed", String(first), "--count", String(count)];
  const child: ChildProcess = fork(new URL(import.meta.url), args, { execArgv: ["--expose-gc"] });
  let done = 0;
  const { promise, resolve } = Promise.withResolvers<number>();
  const killing = setTimeout(() => {
    console.log(`fuzz: silent since seed ${first + done}, within the ${reportEvery} after it`);
    child.kill("SIGKILL");
  }, silenceMs);
  child.on("message", (at: number) => {
    done = at;
    killing.refresh();
  });
  child.on("exit", (code) => {
    clearTimeout(killing);
    resolve(code ?? 1);
  });
  return promise;
}

async function openServer() {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = await newDatabase(opened.use(await startCluster()), "fuzzed");
  const dataDir = await mkdtemp(join(tmpdir(), "postern-fuzz-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const adminToken = newToken("pt");
  const cheap = { hashMemoryKib: 64, hashIterations: 1, port: 0, logLevel: "silent" } as const;
  // The calls all come from one address; limits would refuse nearly all of them.
  const unlimited = {
    callsPerAddressPerMinute: 0,
    callsPerCallerPerMinute: 0,
    callsPerOrganizationPerMinute: 0,
    unknownTokensPerAddressPerMinute: 0,
  };
  const masterKeys = [randomBytes(32)];
  const config = { ...readConfig({}), ...cheap, ...unlimited, databaseUrl, dataDir, adminToken, masterKeys };
  const { url } = opened.use(await startServer(config));
  const stack = opened.move();
  return { url, adminToken, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function run(): Promise<number> {
  await using server = await openServer();
  const as = (token: string) => clientOf(server.url, token);
  const pool = await poolOf(as(server.adminToken), as);
  const begun = performance.now();
  let findings = 0;
  let held = 0;
  const onFinding = (seed: number, finding: string) => {
    findings += 1;
    console.log(`fuzz: seed ${seed}: ${finding}`);
  };
  const onProgress = (done: number) => {
    if (done % reportEvery === 0) process.send?.(done);
    if (done === Math.floor(count / 5)) held = heapBytes();
    if (done % 50_000 === 0) console.log(`fuzz: ${done}, ${rate(done, begun)}, ${megabytes(heapBytes())} held`);
  };
  const statuses = await fuzz({ url: server.url, pool, first, count, onFinding, onProgress });
  const growth = heapBytes() - held;
  console.log(
    `fuzz: ${count} requests, ${rate(count, begun)}, ${findings} findings, ${megabytes(growth)} more held`,
    statuses,
  );
  const isAlive = (await fetch(`${server.url}/readyz`)).status === 200;
  process.disconnect?.();
  return findings > 0 || growth > growthMax || !isAlive ? 1 : 0;
}

const rate = (done: number, begun: number) => `${Math.round((done / (performance.now() - begun)) * 1000)}/s`;
const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MB`;

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

process.exitCode = values.child ? await run() : await watch();

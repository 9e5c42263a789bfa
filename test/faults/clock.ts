import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newToken } from "../../src/security/token.ts";
import { freshDatabase } from "../database.ts";
import { nodeEnv, startNode } from "../first_start.ts";
import { clientOf } from "../harness.ts";
import { until } from "../postgres/embedded/holder.ts";
import { type Fault, type Stage, untilReady } from "./rounds.ts";

/** A node whose clock can be set; those of its timers and of the database go on. */
export type ClockStage = Stage & {
  /** Sets the node's clock so many seconds ahead of this machine's, and waits until the node goes by it. */
  readonly setAhead: (seconds: number) => Promise<void>;
};

/** Starts a node under the library of faketime. */
export async function openClock(): Promise<ClockStage> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = opened.use(await freshDatabase()).url;
  const dataDir = await mkdtemp(join(tmpdir(), "postern-clock-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  await chmod(dataDir, 0o755);
  const file = join(dataDir, "clock");
  await writeFile(file, "+0\n");
  const fake = {
    LD_PRELOAD: library(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
  const env = { ...fake, SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" };
  const options = { databaseUrl, dataDir, adminToken: newToken("pt"), env };
  const node = opened.use(await startNode(options));
  await untilReady(node);
  const admin = clientOf(node.url, options.adminToken);
  const setAhead = async (seconds: number) => {
    await writeFile(file, `${seconds < 0 ? "" : "+"}${seconds}\n`);
    await until(async () => Math.abs((await aheadOf(admin)) - seconds) < 60);
  };
  const fault = (seconds: number): Fault => ({ strike: () => setAhead(seconds) });
  const stack = opened.move();
  return {
    url: node.url,
    databaseUrl,
    token: options.adminToken,
    env: nodeEnv({ ...options, env: {} }),
    setAhead,
    faults: {
      "a clock an hour ahead": fault(3_600),
      "a clock an hour behind": fault(-3_600),
      "a clock that is right again": fault(0),
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function library(): string {
  const { stdout } = spawnSync("faketime", ["-f", "+0", "sh", "-c", 'echo "$LD_PRELOAD"'], { encoding: "utf8" });
  return stdout.trim();
}

let made = 0;

/** How many seconds the node's clock is ahead, by the time that it gives to something new. */
async function aheadOf(admin: ReturnType<typeof clientOf>): Promise<number> {
  const { body } = await admin.post("/v1/projects", { name: `Clock ${process.pid} ${++made}` });
  return (Date.parse(body.details.creationDate) - Date.now()) / 1000;
}

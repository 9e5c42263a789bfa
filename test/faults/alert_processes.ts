import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { newToken } from "../../src/security/token.ts";
import { newDatabase, startCluster } from "../cluster.ts";
import { eventually, type Node, type NodeOptions, startNode } from "../first_start.ts";
import { holdTable } from "../fixture/held_row.ts";
import { clientOf } from "../harness.ts";
import { type Serving, serve } from "../postgres/serving.ts";
import { freePort } from "../wire/free_port.ts";
import { workersOf } from "../workers/processes.ts";
import { type AlertStage, keepDoing, type Scene } from "./alert_scenes.ts";
import { fill, haveRoomForWal, openDisk } from "./full_disk.ts";
import { openKilled } from "./kills.ts";
import { type Stage, untilReady } from "./rounds.ts";
import { scrape } from "./virtual_series.ts";

/** A node that is a process of its own, on a database of its own, and can be started anew. */
export type AlertProcess = AlertStage & { readonly node: () => Node; readonly restart: () => Promise<void> };

/** Starts it. */
export async function openAlertProcess(): Promise<AlertProcess> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = await newDatabase(opened.use(await startCluster()), "alerts");
  const dataDir = await mkdtemp(join(tmpdir(), "postern-alerts-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const options: NodeOptions = { databaseUrl, dataDir, port: await freePort(), adminToken: newToken("pt") };
  const start = async () => {
    const started = await startNode(options);
    await untilReady(started);
    return started;
  };
  let node = await start();
  opened.defer(() => node[Symbol.asyncDispose]());
  const stack = opened.move();
  return {
    url: node.url,
    node: () => node,
    async restart() {
      await node[Symbol.asyncDispose]();
      node = await start();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Scenes of a process; the last one ends it. */
export const processScenes: readonly Scene<AlertProcess>[] = [
  {
    state: "the process stands still for a while",
    fires: ["PosternEventLoop"],
    async enter({ node }, undo) {
      // The delays are those since the last scrape, but for the one that this begins with.
      keepDoing(undo, async () => {
        await pause(100);
        node().signal("SIGSTOP");
        await pause(1_500);
        node().signal("SIGCONT");
      });
    },
  },
  {
    state: "the process starts again and again",
    fires: ["PosternRestarts"],
    async enter({ url, restart }, _undo, passed) {
      for (let nth = 0; nth < 3; nth++) {
        await restart();
        passed.push(await scrape(url));
      }
    },
  },
  {
    state: "the process has ended",
    fires: ["PosternDown"],
    async enter({ node }) {
      await node()[Symbol.asyncDispose]();
    },
  },
];

/** A node of two workers on a database of its own. */
export type AlertWorkers = AlertStage & Serving & { readonly databaseUrl: string };

/** Starts it. */
export async function openAlertWorkers(): Promise<AlertWorkers> {
  await using opened = new AsyncDisposableStack();
  const databaseUrl = await newDatabase(opened.use(await startCluster()), "alerts");
  const serving = opened.use(await serve(databaseUrl, { WORKERS: "2", DATABASE_STATEMENT_TIMEOUT_MS: "120000" }));
  await untilTwo(serving);
  const stack = opened.move();
  return { ...serving, databaseUrl, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const untilTwo = ({ url }: Pick<Serving, "url">) =>
  eventually(async () => /^postern_workers_serving 2$/m.test((await scrape(url)) ?? "") || undefined, "two workers");

const killOne = async ({ child }: AlertWorkers) => {
  const [pid] = (await workersOf(child)).values();
  if (pid) process.kill(pid, "SIGKILL");
};

/** Scenes of workers. */
export const workerScenes: readonly Scene<AlertWorkers>[] = [
  { state: "workers are killed", fires: ["PosternRestarts"], enter: killOne },
  {
    state: "a worker does not come back",
    fires: ["PosternWorkersMissing"],
    async enter(node, undo) {
      undo.defer(async () => void (await untilTwo(node)));
      // A start reads it.
      undo.use(await holdTable(node.databaseUrl, "instance"));
      await killOne(node);
    },
  },
];

/** A node on its embedded database, whose files are on a disk of their own. */
export type AlertDisk = Stage & { readonly folder: string };

/** Starts it. */
export async function openAlertDisk(): Promise<AlertDisk> {
  await using opened = new AsyncDisposableStack();
  const { folder } = opened.use(await openDisk());
  const killed = opened.use(await openKilled(folder));
  const stack = opened.move();
  return { ...killed, folder, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Scenes of it. */
export const diskScenes: readonly Scene<AlertDisk>[] = [
  {
    state: "the disk of the database is full",
    fires: ["PosternDiskFull", "PosternNotReady"],
    async enter({ url, token, folder, databaseUrl }, undo) {
      await haveRoomForWal(databaseUrl);
      const ballast = join(folder, "ballast");
      undo.defer(() => rm(ballast));
      await fill(ballast);
      const admin = clientOf(url, token);
      keepDoing(undo, () => admin.post("/v1/projects", { name: `${randomUUID()} `.repeat(5) }));
    },
  },
];

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { readConfig } from "../../src/config.ts";
import { doctor } from "../../src/doctor.ts";
import { startEmbedded } from "../../src/postgres/embedded.ts";
import { newToken } from "../../src/security/token.ts";
import { eventually, freePort, type Node, nodeEnv, readyStatus, startNode } from "../first_start.ts";
import { openClient } from "../fixture/database_client.ts";
import { seed } from "../fixture/seed.ts";
import { clientOf } from "../harness.ts";
import { ask, postmasterOf, quiet } from "../postgres/holder.ts";
import { expectEachOnce } from "./tally.ts";
import { startWriters, subjectsOf, type Writers } from "./writers.ts";

/** A node on its embedded database, as `npm start` runs it. */
type Stage = AsyncDisposable & {
  readonly url: string;
  readonly databaseUrl: string;
  readonly token: string;
  readonly env: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<Victim, Fault>>;
};

/** Kills a process, and starts it again where nothing else does. */
type Fault = { readonly strike: () => Promise<void>; readonly heal?: () => Promise<void> };

/** The processes that are killed. */
export const victims = ["node", "postmaster", "backend", "node and postmaster"] as const;

type Victim = (typeof victims)[number];

const settings = { SIGN_IN_FAILURES_PER_ADDRESS_PER_MINUTE: "0" };

/** Kills each of the victims so many times under 32 writers, and fails on any write that is lost or doubled. */
export async function killUnderWriters({ rounds, projects }: { rounds: number; projects: number }): Promise<void> {
  await using stage = await openStage();
  const admin = clientOf(stage.url, stage.token);
  await seedProjects(stage.databaseUrl, (await admin.get("/v1/users/me")).body.organization.id, projects);
  const writers = startWriters({ ...stage, subjects: await subjectsOf(admin) });
  for (const victim of victims) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await killOnce(stage.faults[victim], writers));
    times.sort((a, b) => a - b);
    console.log(`${victim} killed ${rounds} times: no write for`, times.map(Math.round).join(", "), "ms");
  }
  await writers.more(200);
  await writers.stop();
  await expectEachOnce(`${rounds} kills of each of ${victims.join(", ")}`, stage, writers);
  expect(await doctor(readConfig(stage.env), { rebuild: true })).toMatchObject({ ok: true });
}

/** Kills once; answers the longest time without an acknowledged write, until each writer is served again. */
async function killOnce({ strike, heal }: Fault, { more, back }: Writers): Promise<number> {
  await more(200);
  await strike();
  const [longestMs] = await Promise.all([back(), heal?.()]);
  return longestMs;
}

async function openStage(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "postern-kills-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const dataDir = join(folder, "data");
  // Made here to learn its URL, and left to the node.
  const embedded = await startEmbedded({ dataDir, log: quiet });
  await embedded[Symbol.asyncDispose]();
  const options = { databaseUrl: "", dataDir, port: await freePort(), adminToken: newToken("pt"), env: settings };
  const start = async () => {
    const started = await startNode(options);
    await untilReady(started);
    return started;
  };
  let node = await start();
  opened.defer(() => node[Symbol.asyncDispose]());
  const { url } = node;
  const endNode = async () => {
    node.signal("SIGKILL");
    await node.exited;
  };
  const startAgain = async () => {
    node = await start();
  };
  const endPostmaster = async () => {
    process.kill(await postmasterOf(join(dataDir, "postgres/data")), "SIGKILL");
  };
  const endBoth = () => Promise.all([endPostmaster(), endNode()]).then(() => {});
  const stack = opened.move();
  return {
    url,
    databaseUrl: embedded.url,
    token: options.adminToken,
    env: nodeEnv(options),
    faults: {
      node: { strike: endNode, heal: startAgain },
      postmaster: { strike: endPostmaster },
      backend: { strike: () => endBackend(embedded.url) },
      "node and postmaster": { strike: endBoth, heal: startAgain },
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const untilReady = (node: Node) =>
  eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");

async function seedProjects(databaseUrl: string, owner: string, projects: number): Promise<void> {
  await using database = openClient(databaseUrl);
  await seed(database.client, owner, { users: 0, projects, grants: 0, changes: 0 });
}

/** Kills a process of the database that serves the node: the server then ends all others, and recovers. */
async function endBackend(databaseUrl: string): Promise<void> {
  const [backend] = await ask<{ pid: number }>(
    databaseUrl,
    "select pid from pg_stat_activity where application_name = 'postern' order by state = 'active' desc, random() limit 1",
  );
  if (backend) process.kill(backend.pid, "SIGKILL");
}

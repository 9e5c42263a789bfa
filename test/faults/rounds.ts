import { expect } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { doctor } from "../../src/maintenance/doctor.ts";
import { eventually, type Node, readyStatus } from "../first_start.ts";
import { openClient } from "../fixture/database_client.ts";
import { seed } from "../fixture/seed.ts";
import { clientOf } from "../harness.ts";
import { expectEachOnce } from "./tally.ts";
import { startWriters, subjectsOf, type Writers } from "./writers.ts";

/** A fault, and its end where it does not end by itself. */
export type Fault = {
  readonly strike: () => unknown;
  readonly heal?: () => Promise<unknown>;
};

/** A node, and the faults that can happen to it. */
export type Stage = AsyncDisposable & {
  readonly url: string;
  /** The database as its administrator reaches it, past every fault. */
  readonly databaseUrl: string;
  readonly token: string;
  /** The environment of the node. */
  readonly env: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<string, Fault>>;
};

type RoundsOptions = {
  readonly rounds: number;
  readonly projects: number;
  /** How many writes there are between two faults, and how long a writer rests after each: not at all when left out. */
  readonly writes?: number;
  readonly pauseMs?: number;
};

/**
 * The rounds of the tests, and those of a long run; a writer grants a project in each of its writes. Writers that rest have a write
 * under way when a fault strikes as well: there are 32 of them.
 */
export const gentle: RoundsOptions = { rounds: 1, projects: 4_000, writes: 100, pauseMs: 100 };
export const short: RoundsOptions = { rounds: 1, projects: 10_000 };
export const long: RoundsOptions = { rounds: 20, projects: 60_000 };

/** Strikes by each fault so many times under 32 writers, and fails on any write that is lost or doubled. */
export async function endure(stage: Stage, options: RoundsOptions): Promise<void> {
  const { rounds, projects, writes = 200, pauseMs = 0 } = options;
  const admin = clientOf(stage.url, stage.token);
  const organizationId = await eventually(
    async () => (await admin.get("/v1/users/me")).body.organization?.id as string | undefined,
    "the organization of the administrator",
  );
  await seedProjects(stage.databaseUrl, organizationId, projects);
  const writers = startWriters({ ...stage, subjects: await subjectsOf(admin), pauseMs });
  for (const [name, fault] of Object.entries(stage.faults)) {
    const times: number[] = [];
    while (times.length < rounds) times.push(await endureOne(fault, writers, writes));
    times.sort((a, b) => a - b);
    console.log(`${name}, ${rounds} times: no write for`, times.map(Math.round).join(", "), "ms");
  }
  await writers.more(writes);
  await writers.stop();
  await expectEachOnce(`rounds of ${Object.keys(stage.faults).join(", ")}`, stage, writers);
  const config = readConfig({ ...stage.env, LOG_LEVEL: "warn" });
  // On a busy machine a check takes longer than a call may.
  const longRunning = { ...config, databaseStatementTimeoutMs: 120_000 };
  expect(await doctor(longRunning, { rebuild: true })).toMatchObject({ ok: true });
}

/** Answers the longest time without an acknowledged write, until each writer is served again. */
async function endureOne({ strike, heal }: Fault, { more, back }: Writers, writes: number): Promise<number> {
  await more(writes);
  await strike();
  await heal?.();
  return back();
}

/** Waits until a node takes calls. */
export const untilReady = (node: Node): Promise<true> =>
  eventually(async () => (await readyStatus(node.url)) === 200 || undefined, "readiness");

async function seedProjects(databaseUrl: string, owner: string, projects: number): Promise<void> {
  await using database = openClient(databaseUrl);
  await seed(database.client, owner, { users: 0, projects, grants: 0, changes: 0 });
}

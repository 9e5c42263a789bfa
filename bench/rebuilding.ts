import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { delimiter, dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { numberAll } from "../src/events/numbering.ts";
import type { Sql } from "../src/postgres/pool/connect.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { seed } from "../test/fixture/seed.ts";
import { type Built, build } from "./built.ts";
import { fillingOf, loaded } from "./loaded.ts";
import { makeFolder, startDatabaseServer } from "./server.ts";
import { over, steadyLoad, steadyRow } from "./steady.ts";
import { startSystem } from "./system_under_test.ts";

const rounds = 4;

/** Replays a log of ten events for each user with `doctor --rebuild`, while others write, and compares the writes with those before. */
export async function rebuilding(users: number, kept?: string): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  const filling = fillingOf(users);
  await loaded(folder.path, [filling]);
  await using built = await build();
  await using databases = await startDatabaseServer({ folder: folder.path });
  await using sql = openClient(await databases.database(filling.name));
  await numberAll(sql.client);
  await using system = await startSystem(databases, filling.name);
  const load = steadyLoad(system, users, users * (await moreProjects(sql.client, system.organizationId, users)));
  await load();
  const before = [];
  for (let at = 0; at < rounds; at++) before.push(await load());
  const [counted] = await sql.client<{ events: number }[]>`select count(*)::int as events from events`;
  const events = counted?.events ?? 0;
  const examined = examine(built, { ...system.env, POSTERN_DATA_DIR: folder.path });
  const during = [];
  for (const isOver = over(examined); !isOver(); ) during.push(await load());
  const { seconds, ...found } = await examined;
  return [
    steadyRow("before", before),
    steadyRow("while the log is replayed", during),
    {
      ...row(`${events} events`, "doctor --rebuild", { seconds, "events/s": Math.round(events / seconds), ...found }),
      goals: { failed: { most: 0 }, "MB at most": { most: 256 } },
    },
  ];
}

// More than all calls of an hour.
const mostGrants = 2_000_000;

/** Adds projects in which nobody has a grant yet; returns the number of the first. */
async function moreProjects(sql: Sql, owner: string, users: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from projects`;
  const firstProject = row?.count ?? 0;
  const projects = Math.ceil(mostGrants / users);
  await seed(sql, owner, { users: 0, projects, firstProject, grants: 0, changes: 0 });
  return firstProject;
}

/** Runs the doctor as people do; returns its seconds, the memory that it had when most was resident, and the lines that say FAIL. */
async function examine({ script }: Built, env: Readonly<Record<string, string>>) {
  const began = performance.now();
  const PATH = [dirname(process.execPath), "/usr/local/bin:/usr/bin:/bin"].join(delimiter);
  const child = spawn("sh", [script, "doctor", "--rebuild"], {
    env: { ...env, PATH, HOME: env.POSTERN_DATA_DIR },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const ended = once(child, "exit");
  let most = 0;
  for (const isOver = over(ended); !isOver(); await pause(100)) most = Math.max(most, await residentOf(child.pid));
  const [code] = await ended;
  const failed = output.split("\n").filter((line) => line.startsWith("FAIL"));
  if (code !== 0 && failed.length === 0) throw new Error(`doctor replayed nothing, and ended with ${code}`);
  process.stdout.write(failed.map((line) => `${line}\n`).join(""));
  return {
    seconds: Math.round((performance.now() - began) / 1000),
    "MB at most": Math.round(most),
    failed: failed.length,
  };
}

/** The resident memory of a process in MB; none once it has ended. */
async function residentOf(pid = 0): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024;
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { round } from "../packages/gateway/bench/stats.ts";
import { openClient } from "../test/fixture/database_client.ts";
import { loaded } from "./loaded.ts";
import { makeFolder, startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";
import { post } from "./users.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const organization = "Load";
const projects = 1_000;
/** An export of an organization with users, a grant for each, and a thousand projects: how soon it begins, and how steadily it goes on. */
export async function exporting(users: number, kept?: string): Promise<Row[]> {
  await using folder = await makeFolder(kept);
  const name = `export_${users}`;
  await loaded(folder.path, [{ name, users, grantsEach: 1, changesEach: 0, organization }]);
  await using databases = await startDatabaseServer({ folder: folder.path });
  await databases.drop(`${name}_run`);
  await using system = await startSystem(databases, `${name}_run`, { like: name });
  const { server, token } = system;
  const id = await organizationIn(system);
  for (let n = 0; n < projects; n++)
    await post(server.url, "/v1/projects", { body: { name: `Project ${n}` }, token, organization: id });
  const { firstMs, totalMs, longestMs, lines } = await exported(system, id);
  const figures = {
    lines,
    "first line after s": round(firstMs / 1000),
    "done after s": round(totalMs / 1000),
    "lines/s": Math.round(lines / (totalMs / 1000)),
    "longest pause ms": Math.round(longestMs),
    "RSS MB of the service": Math.round((await server.usage()).rss / 1024 / 1024),
  };
  const least = users * 2 + projects;
  return [
    {
      ...row(`${users} users, grants, ${projects} projects`, "postern export", figures),
      goals: { lines: { least }, "first line after s": { most: 5 }, "longest pause ms": { most: 1_000 } },
    },
  ];
}

async function organizationIn({ databaseUrl }: SystemUnderTest): Promise<string> {
  await using sql = openClient(databaseUrl);
  const [found] = await sql.client`select organization_id as id from organizations where name = ${organization}`;
  return String(found?.id);
}

/** Runs the command; returns when its first and its last line came, and for how long none did in between. */
async function exported({ server, token }: SystemUnderTest, organizationId: string) {
  const began = performance.now();
  const args = [main, "export", "--organization", organizationId, "--url", server.url];
  const child = spawn(process.execPath, args, {
    env: { POSTERN_ADMIN_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let lines = 0;
  let firstMs = 0;
  let lastMs = 0;
  let longestMs = 0;
  child.stdout.on("data", (piece: Buffer) => {
    const now = performance.now() - began;
    if (lines === 0) firstMs = now;
    else longestMs = Math.max(longestMs, now - lastMs);
    lastMs = now;
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`the export ended with ${code}`);
  return { firstMs, totalMs: performance.now() - began, longestMs, lines };
}

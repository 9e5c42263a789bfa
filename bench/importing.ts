import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { startDatabaseServer } from "./server.ts";
import { type SystemUnderTest, startSystem } from "./system_under_test.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** An import of users without passwords, each with a grant, and the import of the same file again. */
export async function importing(users: number): Promise<Row[]> {
  await using databases = await startDatabaseServer();
  await using system = await startSystem(databases, "importing");
  const file = join(databases.folder, "users.ndjson");
  await pipeline(Readable.from(lines(users)), createWriteStream(file));
  const measured = async (how: string) => {
    const before = await cpuSeconds(system, databases.folder);
    const began = performance.now();
    const command = await imported(system, file);
    const seconds = (performance.now() - began) / 1000;
    const after = await cpuSeconds(system, databases.folder);
    const [service, database] = [after.service - before.service, after.database - before.database];
    const figures = { seconds, "service CPU s": service, "database CPU s": database, "command CPU s": command };
    const rounded = Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(1))]),
    );
    return { ...row(`${users} users and grants`, how, rounded), goals: { seconds: { most: (60 * users) / 100_000 } } };
  };
  return [await measured("new"), await measured("again")];
}

function* lines(users: number): Generator<string> {
  yield `${JSON.stringify({ project: { name: "Shop", roles: [{ key: "viewer" }, { key: "editor" }] } })}\n`;
  for (let n = 0; n < users; n++) {
    const human = {
      username: `user${n}`,
      givenName: "Ada",
      familyName: `Byron ${n % 5000}`,
      email: `user${n}@example.com`,
    };
    yield `${JSON.stringify({ human })}\n`;
  }
  for (let n = 0; n < users; n++)
    yield `${JSON.stringify({ grant: { username: `user${n}`, project: "Shop", roleKeys: ["viewer", "editor"] } })}\n`;
}

/** Runs the command; returns its CPU seconds. */
async function imported({ server, token }: SystemUnderTest, file: string): Promise<number> {
  const measure = `process.on("exit", () => process.stderr.write(String(process.cpuUsage().user + process.cpuUsage().system)))`;
  const args = [
    "--import",
    `data:text/javascript,${encodeURIComponent(measure)}`,
    main,
    "import",
    file,
    "--url",
    server.url,
  ];
  const env = { POSTERN_ADMIN_TOKEN: token };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "inherit", "pipe"] });
  const written: Buffer[] = [];
  child.stderr.on("data", (piece: Buffer) => written.push(piece));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`the import ended with ${code}: ${Buffer.concat(written)}`);
  return Number(Buffer.concat(written)) / 1e6;
}

/** The CPU seconds until now of the service, and of the database with all its processes. */
async function cpuSeconds({ server }: SystemUnderTest, folder: string) {
  const [pid] = (await readFile(join(folder, "data/postgres/data/postmaster.pid"), "utf8")).split("\n");
  return { service: (await server.usage()).cpu / 1e6, database: await treeSeconds(Number(pid)) };
}

const ticksPerSecond = 100;

/** Adds up the times of a process and its children, those that ended included; see proc(5). */
async function treeSeconds(root: number): Promise<number> {
  const stats = await Promise.all(
    (await readdir("/proc"))
      .filter((name) => /^\d+$/.test(name))
      .map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")),
  );
  const processes = stats.filter(Boolean).map((stat) => {
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [own, ended] = [(fields[11] ?? 0) + (fields[12] ?? 0), (fields[13] ?? 0) + (fields[14] ?? 0)];
    return { pid: Number.parseInt(stat, 10), parent: fields[1], ticks: own + ended };
  });
  const ours = processes.filter(({ pid, parent }) => pid === root || parent === root);
  return ours.reduce((sum, { ticks }) => sum + ticks, 0) / ticksPerSecond;
}

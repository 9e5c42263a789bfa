import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Row, row } from "../packages/gateway/bench/report.ts";
import { median } from "../packages/gateway/bench/stats.ts";
import type { Built } from "./built.ts";
import { makeFolder } from "./server.ts";

const times = 3;

/** From the command to the first answer to the administrator, with the embedded database: on a new folder, and again on the same. */
export async function starts(built: Built): Promise<Row[]> {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let time = 0; time < times; time++) {
    await using folder = await makeFolder();
    const data = join(folder.path, "data");
    cold.push(await started(built, data));
    // The first start caches compiled code, the second one uses it.
    await started(built, data);
    warm.push(await started(built, data));
  }
  return [line("cold, on a new folder", cold, 5000), line("warm", warm, 1000)];
}

const line = (how: string, all: readonly number[], most: number): Row => ({
  ...row("start to first answer", how, { ms: Math.round(median(all)) }),
  goals: { ms: { most } },
});

async function started({ script }: Built, data: string): Promise<number> {
  const { HOME, PATH } = { HOME: data, PATH: `${join(process.execPath, "..")}:/usr/local/bin:/usr/bin:/bin` };
  const env = { HOME, PATH, POSTERN_DATA_DIR: data, PORT: "0", LOG_FORMAT: "json" };
  const began = performance.now();
  const child = spawn("sh", [script], { env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await listening(createInterface(child.stdout));
    const token = (await readFile(join(data, "admin-token"), "utf8")).trim();
    const answer = await fetch(`${url}/v1/users/me`, { headers: { authorization: `Bearer ${token}` } });
    if (!answer.ok) throw new Error(`the first answer was ${answer.status}`);
    return performance.now() - began;
  } finally {
    child.stdout.resume();
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
}

async function listening(lines: AsyncIterable<string>): Promise<string> {
  for await (const text of lines) {
    const url = /"url":"([^"]+)"/.exec(text)?.[1];
    if (url) return url;
  }
  throw new Error("the service ended before it listened");
}

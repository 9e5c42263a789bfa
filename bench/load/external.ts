import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Served } from "../ground.ts";

const run = promisify(execFile);

/** One call that is sent again and again. */
export type Shot = {
  readonly path: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly http: "1" | "2";
};

/** What came of it. */
export type Fired = { readonly rate: number; readonly cpu: number; readonly failed: number };

const connections = 8;
const streams = 8;

/** Sends the same call with h2load, 64 at once, and looks at what the server's process used for it. */
export async function fire(server: Served, { path, body, headers, http }: Shot, seconds: number): Promise<Fired> {
  const folder = await mkdtemp(join(tmpdir(), "postern-load-"));
  try {
    const file = join(folder, "body");
    await writeFile(file, body);
    const given = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    const protocol =
      http === "1" ? ["--h1", "-c", `${connections * streams}`] : ["-c", `${connections}`, "-m", `${streams}`];
    const before = await server.usage();
    const args = [...protocol, "-t", "1", "-D", `${seconds}`, "-d", file, ...given, server.url + path];
    const { stdout } = await run("h2load", args);
    const used = (await server.usage()).cpu - before.cpu;
    const [, done = "0", ok = "0"] = /(\d+) done, (\d+) succeeded/.exec(stdout) ?? [];
    const [, good = "0"] = /status codes: (\d+) 2xx/.exec(stdout) ?? [];
    const calls = Number(good);
    return { rate: Math.round(calls / seconds), cpu: used / calls, failed: Number(done) - Math.min(Number(ok), calls) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

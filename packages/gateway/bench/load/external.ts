import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Served } from "../serve.ts";
import { generate, type Shot } from "./generator.ts";
import { provide } from "./tools.ts";

export type { Shot };

const run = promisify(execFile);

/** The result of a load. */
export type Fired = { readonly rate: number; readonly cpu: number; readonly failed: number };

const connections = 8;
const streams = 8;

/** Sends the same call, 64 at once, and looks at what the server's process used for it; without h2load from a thread of ours. */
export async function fire(server: Served, shot: Shot, seconds: number): Promise<Fired> {
  const before = await server.usage();
  const send = (await provide("h2load")) ? h2load : fromThread;
  const { calls, failed } = await send(server.url, shot, seconds);
  const used = (await server.usage()).cpu - before.cpu;
  return { rate: Math.round(calls / seconds), cpu: used / calls, failed };
}

type Counted = { readonly calls: number; readonly failed: number };

async function fromThread(url: string, shot: Shot, seconds: number): Promise<Counted> {
  const { calls, refused } = await generate({ shot, url, callers: connections * streams, seconds, from: 0 });
  return { calls: calls - refused, failed: refused };
}

async function h2load(url: string, shot: Shot, seconds: number): Promise<Counted> {
  const { path, body, headers, http } = shot;
  const folder = await mkdtemp(join(tmpdir(), "postern-load-"));
  try {
    const file = join(folder, "body");
    await writeFile(file, body);
    const given = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    const protocol =
      http === "1" ? ["--h1", "-c", `${connections * streams}`] : ["-c", `${connections}`, "-m", `${streams}`];
    const args = [...protocol, "-t", "1", "-D", `${seconds}`, "-d", file, ...given, url + path];
    const { stdout } = await run("h2load", args);
    const [, done = "0", ok = "0"] = /(\d+) done, (\d+) succeeded/.exec(stdout) ?? [];
    const [, good = "0"] = /status codes: (\d+) 2xx/.exec(stdout) ?? [];
    const [, bytes = "0"] = /\((\d+)\) data$/m.exec(stdout) ?? [];
    const calls = Math.min(Number(good), answered(Number(bytes), shot.answerBytes));
    return { calls, failed: Number(done) - Math.min(Number(ok), calls) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** How many answers so many bytes are: a refusal of gRPC has status 200 as well, and no body. */
const answered = (bytes: number, each: number | undefined) =>
  each ? Math.floor(bytes / each) : Number.POSITIVE_INFINITY;

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Built } from "./built.ts";
import { unreached } from "./server.ts";

/** A node in a process as people start it, with its flags, and no more than it needs. */
export type Node = AsyncDisposable & {
  readonly url: string;
  /** From the command to the first answer that the node is ready. */
  readonly startMs: number;
  readonly memory: () => Promise<Memory>;
};

/** Memory of a process, in MB: resident, of which anonymous, of which the rest are pages of files; shared pages by their share. */
export type Memory = Readonly<Record<"rss" | "anonymous" | "file" | "pss", number>>;

/** Starts a node by the script of the package, and waits until it is ready. */
export async function startNode({ script }: Built, env: Readonly<Record<string, string>>): Promise<Node> {
  const PATH = [dirname(process.execPath), "/usr/local/bin:/usr/bin:/bin"].join(delimiter);
  const whole = { ...unreached, HOME: tmpdir(), PATH, PORT: "0", LOG_FORMAT: "json", ...env };
  const began = performance.now();
  const child = spawn("sh", [script, "serve"], { env: whole, stdio: ["ignore", "pipe", "inherit"] });
  const url = await listening(child);
  while (!(await fetch(`${url}/readyz`)).ok) await sleep(1);
  const startMs = performance.now() - began;
  return {
    url,
    startMs,
    memory: async () => memoryOf(await readFile(`/proc/${child.pid}/smaps_rollup`, "utf8")),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function listening({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error("the node has no output");
  for await (const text of createInterface(stdout)) {
    const url = /"url":"([^"]+)"/.exec(text)?.[1];
    if (!url) continue;
    stdout.resume();
    return url;
  }
  throw new Error("the node ended before it listened");
}

function memoryOf(rollup: string): Memory {
  const of = (name: string) => Math.round(Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)?.[1]) / 1024);
  const [rss, anonymous] = [of("Rss"), of("Anonymous")];
  return { rss, anonymous, file: rss - anonymous, pss: of("Pss") };
}

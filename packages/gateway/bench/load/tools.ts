import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

// The Debian packages of the tools.
const packages = { h2load: "nghttp2-client", wrk: "wrk", pgbench: "postgresql-contrib" } as const;

/** A measuring tool. */
export type Tool = keyof typeof packages;

const found = new Map<Tool, Promise<boolean>>();

/** Whether a tool is available; a missing one is installed where possible, and the output reports the result. */
export function provide(tool: Tool): Promise<boolean> {
  const known = found.get(tool) ?? provided(tool);
  found.set(tool, known);
  return known;
}

async function provided(tool: Tool): Promise<boolean> {
  if (await has(tool)) return true;
  const name = packages[tool];
  if (process.getuid?.() !== 0) return missing(tool, `install ${name} as root to have it`);
  process.stdout.write(`${tool} is missing: installing ${name}\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  try {
    await run("apt-get", ["update"], { env });
    await run("apt-get", ["install", "-y", "--no-install-recommends", name], { env });
  } catch (error) {
    return missing(tool, `apt-get could not install ${name}: ${whyOf(error)}`);
  }
  return (await has(tool)) || missing(tool, `${name} did not bring it`);
}

function missing(tool: Tool, why: string): false {
  process.stdout.write(`${tool} is missing; ${why}\n`);
  return false;
}

const has = (tool: Tool): Promise<boolean> =>
  run(tool, ["--version"]).then(
    () => true,
    // wrk answers its version with a status that says failed.
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );

/** The error output of a failed program, in one line. */
export function whyOf(error: unknown): string {
  const lines = error instanceof Error && "stderr" in error ? String(error.stderr).trim().split("\n") : [];
  return lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? String(error);
}

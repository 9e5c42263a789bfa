import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { unpack } from "../fixture/history.ts";

const run = promisify(execFile);
// Node runs no TypeScript below a folder called node_modules.
const cache = join(tmpdir(), "postern-releases");

/** The commit of 0.1.0. */
export const zeroOne = "253f142";

/** The folder of the program as a commit has it, with its packages; it is made once. */
export async function releaseOf(commit: string): Promise<string> {
  const root = join(cache, commit);
  if (existsSync(root)) return root;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, "draft-"));
  try {
    await unpack(commit, draft);
    await run("npm", ["ci", "--omit", "dev", "--no-audit", "--no-fund"], { cwd: draft });
    // Somebody else may have made it meanwhile.
    await rename(draft, root).catch((error) => (existsSync(root) ? undefined : Promise.reject(error)));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return root;
}

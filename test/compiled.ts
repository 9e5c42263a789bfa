import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}node_modules/.cache/compiled`;

/** The setting by which processes of tests share compiled code. */
export const compiled = { NODE_COMPILE_CACHE: folder };

const loadAll = `import { globSync } from "node:fs";
  await Promise.all(globSync(process.argv[1] + "{src,packages/gateway/src}/**/*.ts").map((path) => import(path)));`;

/** Fills the folder unless it is there; later, each process that ends by itself adds what has changed. */
export async function compile(): Promise<void> {
  if (existsSync(folder)) return;
  const args = ["--input-type=module", "--eval", loadAll, root, "version"];
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...compiled } });
}

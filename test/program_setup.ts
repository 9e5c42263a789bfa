import { execFile } from "node:child_process";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { bundle, root } from "../scripts/bundle.ts";
import { compiled } from "./compiled.ts";

const folder = join(root, "node_modules/.cache/program");

const loadAll = `import { globSync } from "node:fs";
  await Promise.all(globSync(process.argv[1] + "/*.js").map((path) => import(path)));`;

/** Bundles the program for the whole run: a start takes two thirds of the time that the sources take. */
export default async function setup(): Promise<void> {
  const fresh = `${folder}-${process.pid}`;
  await bundle(fresh);
  // Chunks of an earlier build may not fit those of this one.
  await rm(folder, { recursive: true, force: true });
  await rename(fresh, folder);
  const args = ["--input-type=module", "--eval", loadAll, folder, "version"];
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...compiled } });
  process.env.TEST_PROGRAM = join(folder, "main.js");
}

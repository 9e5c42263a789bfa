import { cp, mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, type Ended, ended } from "./command.ts";
import type { Environment } from "./stage.ts";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/postern-clients");

/** A copy of a program, where code may be generated and built, and what is worth keeping for the next run beside it. */
export type Workshop = {
  readonly folder: string;
  readonly kept: string;
  /** Runs a command in the copy, which must succeed. */
  readonly must: (command: string, ...more: string[]) => Promise<void>;
  /** Runs a command in the copy with the environment of the program, however it ends. */
  readonly run: (environment: Environment, command: string, ...more: string[]) => Promise<Ended>;
  /** Generates code into the copy, as its buf.gen.yaml says. */
  readonly generate: () => Promise<void>;
};

/** Copies the program of a folder, beside this file unless it is said where. */
export async function openWorkshop(name: string, source: string = join(root, "test/clients", name)): Promise<Workshop> {
  const folder = join(cache, name);
  const kept = join(cache, `${name}-kept`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(kept, { recursive: true });
  const isOfProgram = (path: string) => !basename(path).endsWith(".ts");
  await cp(source, folder, { recursive: true, filter: isOfProgram });
  return {
    folder,
    kept,
    must: (...command) => mustEnd(folder, command),
    run: (env, ...command) => ended(command, { cwd: folder, env }),
    generate: () => mustEnd(root, ["buf", "generate", "--template", join(folder, "buf.gen.yaml"), "-o", folder]),
  };
}

async function mustEnd(cwd: string, command: Command): Promise<void> {
  const { code, out, err } = await ended(command, { cwd });
  if (code !== 0) throw new Error([command.join(" "), out, err].join("\n"));
}

import { execFile } from "node:child_process";
import { cp, mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "./stage.ts";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/postern-clients");

/** How a command ended. */
export type Ended = { readonly code: number; readonly out: string; readonly all: string };

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

/** Copies the program of a folder beside this file. */
export async function openWorkshop(name: string): Promise<Workshop> {
  const folder = join(cache, name);
  const kept = join(cache, `${name}-kept`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(kept, { recursive: true });
  const isOfProgram = (path: string) => !basename(path).endsWith(".ts");
  await cp(join(root, "test/clients", name), folder, { recursive: true, filter: isOfProgram });
  return {
    folder,
    kept,
    must: (...command) => mustEnd(folder, command),
    run: (environment, ...command) => ended(folder, command, environment),
    generate: () => mustEnd(root, ["buf", "generate", "--template", join(folder, "buf.gen.yaml"), "-o", folder]),
  };
}

type Command = [command: string, ...more: string[]];

async function mustEnd(cwd: string, command: Command): Promise<void> {
  const { code, all } = await ended(cwd, command);
  if (code !== 0) throw new Error(`${command.join(" ")}\n${all}`);
}

function ended(cwd: string, [command, ...more]: Command, environment: Environment = {}): Promise<Ended> {
  const options = { cwd, env: { ...process.env, ...environment }, maxBuffer: 64 << 20 };
  return new Promise((resolve, reject) => {
    execFile(command, more, options, (error, out, err) => {
      if (error && typeof error.code !== "number") reject(error);
      else resolve({ code: Number(error?.code ?? 0), out, all: out + err });
    });
  });
}

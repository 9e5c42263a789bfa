import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** The folder in which the packages are built, and where their archives are. */
export const dist = join(root, "sdk/dist");

/** The version of the packages: that of the contract. */
export const version: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

/** A copy of a package's folder, where its code is generated and built. */
export type Workshop = {
  readonly folder: string;
  /** Runs a command in the copy; its output goes to stderr. */
  readonly run: (command: string, ...args: readonly string[]) => void;
  /** Puts the version into a file of the copy, in place of 0.0.0. */
  readonly stamp: (file: string) => void;
  /** Puts the licence and the retry policy into a folder of the copy. */
  readonly supply: (policyIn: string) => void;
};

/** Copies the folder of a package. */
export function openWorkshop(name: string): Workshop {
  const folder = join(dist, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, "sdk", name), folder, { recursive: true });
  const path = [join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);
  return {
    folder,
    run(command, ...args) {
      execFileSync(command, args, { cwd: folder, env: { ...process.env, PATH: path }, stdio: ["ignore", 2, 2] });
    },
    stamp(file) {
      const text = readFileSync(join(folder, file), "utf8");
      writeFileSync(join(folder, file), text.replace("0.0.0", version));
    },
    supply(policyIn) {
      cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
      mkdirSync(join(folder, policyIn), { recursive: true });
      cpSync(join(root, "docs/grpc-retry.json"), join(folder, policyIn, "grpc-retry.json"));
    },
  };
}

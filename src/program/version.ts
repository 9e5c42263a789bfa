import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageFolder } from "../contract/package_folder.ts";
import type { Command } from "./command.ts";
import { print } from "./output.ts";

/** The version of the package. */
export async function version(): Promise<string> {
  const text = await readFile(join(packageFolder(), "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Prints the version. */
export const showVersion: Command = {
  about: "print the version",
  run: async () => print([await version()]),
};

import { packageVersion } from "../contract/package_folder.ts";
import type { Command } from "./command.ts";
import { print } from "./output.ts";

/** Prints the version. */
export const showVersion: Command = {
  about: "print the version",
  run: async () => print([await packageVersion()]),
};

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the package that contains this file, even if it was built into another place of the package. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json")) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** The version of the package. */
export async function packageVersion(): Promise<string> {
  const text = await readFile(join(packageFolder(), "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

import { readFile } from "node:fs/promises";

/** The secret in a file of the data folder; undefined if the file is missing. */
export async function readSecret(path: string): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(ignoreUnreadable(() => undefined));
  return text?.replace(/\n+$/, "");
}

/**
 * Ignores errors about a missing or unreadable file: a node with an external database may have no data folder, or one that it cannot read.
 */
export function ignoreUnreadable<T>(instead: () => T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code !== "ENOENT" && error.code !== "EACCES" && error.code !== "ENOTDIR") throw error;
    return instead();
  };
}

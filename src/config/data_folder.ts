import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ConfigError } from "./setting.ts";

/** Creates the data folder unless it exists; throws a ConfigError if it cannot be used. */
export async function makeDataFolder(dataDir: string): Promise<void> {
  try {
    await makeFolders(resolve(dataDir));
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw dataFolderError(dataDir, error);
  }
}

// Node's recursive mkdir never returns below a folder such as /proc, where mkdir fails with ENOENT.
async function makeFolders(path: string): Promise<void> {
  const make = () => mkdir(path, { mode: 0o711 });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(path);
    if (code === "ENOENT" && parent !== path && !(await isFolder(parent))) {
      await makeFolders(parent);
      await make();
    } else if (!(await isFolder(path))) throw error;
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** The error for a data folder that cannot be used, or that contains an unreadable file. */
export function dataFolderError(dataDir: string, error: unknown): ConfigError {
  const { code = "" } = error as NodeJS.ErrnoException;
  const why = reasons[code] ?? (error instanceof Error ? error.message : String(error));
  return new ConfigError(
    `POSTERN_DATA_DIR is ${dataDir}, which cannot be used (${why}): set it to a folder that this user can write to`,
  );
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  EEXIST: "it is not a folder",
  ENOTDIR: "it is not a folder, or is below a file",
  ENOENT: "no folder can be created there",
  ENOSPC: "the disk is full",
};

